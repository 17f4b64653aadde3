//! Decides what the interviewer says and does next.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    appointment::{Booking, Next},
    asking,
    dialogue::{Dialogue, Last},
    language_wish::wish,
    meaning::{Meaning, Turn},
    outside::NOT_KNOWN,
    phrases::Intent,
    slot::{Slot, slots},
};
use crate::{
    agent::{Agent, UsableTransfer},
    callback_time::SpokenTime,
    ports::{
        language_model::{ReplyEvent, ReplyRequest},
        tool_runner::ToolOffer,
    },
    template::{self, Place},
};

/// Consecutive silences after which the agent assumes that nobody is there.
const MAX_SILENCES: usize = 3;
/// Asked if there is nothing to collect and the prompt contains no question either.
const OPEN_QUESTION: &str = "How can I help you today?";
/// Longest question of the prompt, in words, that may be spoken.
const QUESTION_WORDS: usize = 15;
/// Said before the next question, in turn.
const ACKNOWLEDGEMENTS: [&str; 3] = ["Thank you.", "Got it.", "Great."];
/// Asked if somebody wants a later call and did not say when.
const WHEN: &str = "When would suit you?";
/// Said to a caller who wants a call, because the interviewer plans none for incoming calls.
const NO_CALL: &str = "I can't arrange a call from here, but you can reach us at this number again.";
/// Said to somebody who asks for a person.
const HAND_ON: &str = "Of course. One moment, I'll put you through.";
/// Asked after an answer if there is nothing else to ask; recognised later by its "help".
const ANYTHING_ELSE: &str = "What else can I help you with?";
/// Fewest letters of a word that can tell where a call should go.
const TELLING_LETTERS: usize = 4;
/// Number of shared words with which a condition applies although nobody asked to be transferred.
const TELLING_WORDS: usize = 2;

/// Returns the number of significant words that two texts share.
fn shared_words(one: &str, other: &str) -> usize {
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        words.filter(|word| word.chars().count() >= TELLING_LETTERS).collect()
    };
    words(one).intersection(&words(other)).count()
}

/// Returns the reply to a request. It is never empty, and the same for the same request.
pub fn plan(request: &ReplyRequest) -> Vec<ReplyEvent> {
    let agent = &request.agent;
    let prompt = template::render(
        Place::Prompt,
        &agent.conversation_config.agent.prompt.prompt,
        &request.variables,
    );
    let open = open_question(&prompt).unwrap_or(OPEN_QUESTION);
    let mut dialogue = Dialogue::replay(
        slots(agent, &request.variables, open),
        request.direction,
        !agent.conversation_config.agent.prompt.knowledge_base.is_empty(),
        &request.history,
    );
    let booking = Booking::of(request);
    if booking.as_ref().is_some_and(Booking::is_begun) {
        dialogue.close_all();
    }
    let greeting = agent.conversation_config.opening(&request.variables);
    let mut reply = ReplyMaker {
        agent,
        known: request.knowledge.answer.as_deref(),
        greeting: &greeting,
        tools: &request.tools,
        dialogue: &mut dialogue,
        booking: booking.as_ref(),
    };
    reply.make()
}

/// Returns a short question that the instructions contain.
fn open_question(prompt: &str) -> Option<&str> {
    let end = prompt.find('?')?;
    let start = prompt[..end].rfind(['.', '!', ':', '"', '\u{201c}', '\n']);
    let question = &prompt[start.map_or(0, |at| at + prompt[at..].chars().next().map_or(1, char::len_utf8))..=end];
    let question = question.trim();
    (2..=QUESTION_WORDS)
        .contains(&question.split_whitespace().count())
        .then_some(question)
}

fn say(text: impl Into<String>) -> Vec<ReplyEvent> {
    vec![ReplyEvent::Text(text.into())]
}

/// Returns a tool call without words.
fn call(name: &str, arguments: Value) -> Vec<ReplyEvent> {
    vec![ReplyEvent::Tool {
        name: name.into(),
        arguments,
        echo: None,
    }]
}

/// Returns the tool call that stores a value.
fn kept(name: &str, value: &Value) -> ReplyEvent {
    ReplyEvent::Tool {
        name: "collect".into(),
        arguments: json!({ "entity": name, "value": value }),
        echo: None,
    }
}

struct ReplyMaker<'a> {
    agent: &'a Agent,
    /// Answer of the documents to the last words.
    known: Option<&'a str>,
    greeting: &'a str,
    /// Tools that run outside the call.
    tools: &'a [ToolOffer],
    dialogue: &'a mut Dialogue,
    /// Appointment to make once everything was asked.
    booking: Option<&'a Booking>,
}

impl ReplyMaker<'_> {
    /// Returns whether the agent may end the call: if its tool is on, or for an opt-out that it honours.
    fn may_end(&self, reason: &str) -> bool {
        let tools = &self.agent.conversation_config.agent.prompt.built_in_tools;
        let opt_out = self.agent.platform_settings.call_actions.smart_opt_out && reason == "opt_out";
        tools.end_call.enabled || opt_out
    }

    /// Returns the last words, and the end of the call if the agent may end it.
    fn end(&self, text: &str, reason: &str) -> Vec<ReplyEvent> {
        let mut events = say(text);
        if self.may_end(reason) {
            events.extend(call("endCall", json!({ "reason": reason })));
        }
        events
    }

    /// Promises a call and ends this one.
    fn call_later(&self, time: SpokenTime) -> Vec<ReplyEvent> {
        let mut events = call("callLater", json!({ "at": time.to_string() }));
        events.extend(self.end(&format!("Of course. We'll call you {time}. Goodbye."), "call_back"));
        events
    }

    fn spoken(&self, next: Next) -> Vec<ReplyEvent> {
        match next {
            Next::Say(events) => events,
            Next::End(words) => self.end(&words, "completed"),
        }
    }

    /// Asks a tool outside the call that fits the words. A proper answer to the question stays an answer. The
    /// tool's answer is told once it is there.
    fn ask_tool(&self, heard: &Meaning, text: &str) -> Option<Vec<ReplyEvent>> {
        match heard {
            Meaning::Answer(_)
                if self
                    .dialogue
                    .slot()
                    .is_none_or(|slot| !slot.takes_anything() || slot.wants(text)) =>
            {
                return None;
            }
            Meaning::More(..) | Meaning::CallAt(_) | Meaning::Attention | Meaning::Aside(_) | Meaning::NoCall => {
                return None;
            }
            Meaning::NotAsked | Meaning::Unclear if self.dialogue.when_asked > 0 || self.books() => return None,
            Meaning::Answer(_) | Meaning::NotAsked | Meaning::Unclear => {}
        }
        let (name, arguments) = self.dialogue.outside.wanted(self.tools, text)?;
        Some(call(&name, arguments))
    }

    fn make(&mut self) -> Vec<ReplyEvent> {
        if let Some(turn) = self.dialogue.turn.take() {
            return self.answer(&turn);
        }
        if let (Last::Tool | Last::Agent, Some(found)) = (self.dialogue.last, self.dialogue.outside.found()) {
            return self.go_on(&found);
        }
        match self.dialogue.last {
            _ if self.dialogue.ended => self.end("Goodbye!", "completed"),
            Last::Silence if self.dialogue.silences >= MAX_SILENCES && !self.may_end("silence") => {
                call("skipTurn", json!({}))
            }
            Last::Silence if self.dialogue.silences >= MAX_SILENCES => {
                self.end("I can't hear you, so I'll hang up now. Goodbye!", "silence")
            }
            Last::Silence if self.dialogue.when_asked > 0 => say(format!("Are you still there? {WHEN}")),
            Last::Silence if self.dialogue.agent_turns > 0 => self.next("Are you still there?"),
            Last::Nothing | Last::Agent | Last::User | Last::Tool | Last::Silence => self.next(""),
        }
    }

    fn answer(&mut self, turn: &Turn) -> Vec<ReplyEvent> {
        let heard = self.dialogue.hear(turn);
        if let Some(change) = self.change(&heard, &turn.text) {
            return change;
        }
        if let Meaning::Aside(intent) = heard
            && let Some(last_words) = self.leave(intent, &turn.text)
        {
            return last_words;
        }
        if self.dialogue.is_too_long() {
            return self.end("I have to go now. Thank you for your time. Goodbye!", "too_long");
        }
        if let Some(asked) = self.ask_tool(&heard, &turn.text) {
            return asked;
        }
        if self.dialogue.is_question(turn)
            && let Some(told) = self.tell(&heard)
        {
            return told;
        }
        match heard {
            Meaning::Answer(value) => self.collect(&value),
            Meaning::More(slot, value) => self.amend(slot, &value),
            Meaning::CallAt(time) => self.call_later(time),
            Meaning::NoCall => self.next(NO_CALL),
            Meaning::Aside(Intent::HoldOn) if self.dialogue.when_asked > 0 => say("Of course, take your time."),
            Meaning::Aside(Intent::WhoIsThis) if self.dialogue.when_asked > 0 => say(format!("{} {WHEN}", self.who())),
            Meaning::Aside(_) if self.dialogue.when_asked > 0 => say(format!("Sorry, I didn't catch that. {WHEN}")),
            Meaning::Aside(Intent::Repeat) if self.is_greeted_only() || !self.dialogue.asked => self.say_again(),
            Meaning::Aside(Intent::Refusal) if !self.dialogue.asked => self.not_asked(),
            Meaning::Aside(Intent::Refusal | Intent::Repeat) if self.books() => self.book(turn),
            Meaning::Aside(intent) => self.aside(intent),
            Meaning::Unclear => self.unclear("Sorry, I didn't catch that."),
            Meaning::Attention => vec![ReplyEvent::Tool {
                name: "skipTurn".into(),
                arguments: json!({}),
                echo: None,
            }],
            Meaning::NotAsked if self.books() => self.book(turn),
            Meaning::NotAsked => self.not_asked(),
        }
    }

    /// Switches to another language that the user asked for, or transfers to another agent whose condition
    /// matches the words. A proper answer to the question stays an answer, except a request where any words
    /// would be accepted. The request is stored if the question asked for it.
    fn change(&self, heard: &Meaning, text: &str) -> Option<Vec<ReplyEvent>> {
        if let Some(code) = wish(text, &self.agent.languages())
            && *code != self.agent.conversation_config.agent.primary_language
        {
            return Some(call("languageDetection", json!({ "language": code })));
        }
        let slot = self.dialogue.slot();
        let mut events = Vec::new();
        match heard {
            Meaning::Answer(value) => {
                let slot = slot.filter(|slot| slot.takes_anything() && !slot.wants(text) && asking::requests(text))?;
                let name = slot.name.as_deref().filter(|_| slot.is_about_a_wish());
                events.extend(name.map(|name| kept(name, value)));
            }
            Meaning::More(..) | Meaning::CallAt(_) | Meaning::Attention => return None,
            Meaning::Aside(_) | Meaning::NoCall | Meaning::NotAsked | Meaning::Unclear => {}
        }
        let (number, _) = self.successor(text).filter(|(_, shared)| *shared >= TELLING_WORDS)?;
        events.extend(call("transferToAgent", json!({ "agent_number": number })));
        Some(events)
    }

    /// Returns the agent whose condition shares most words with the wish, and their number; of equals the first one.
    fn successor(&self, wish: &str) -> Option<(usize, usize)> {
        let tools = &self.agent.conversation_config.agent.prompt.built_in_tools;
        let successors = tools.transfer_to_agent.successors(&BTreeMap::new());
        let shared = successors.iter().map(|other| shared_words(&other.condition, wish));
        shared.enumerate().rev().max_by_key(|(_, shared)| *shared)
    }

    /// Answers a question from the documents and continues. None if it must be treated like any other turn.
    fn tell(&mut self, heard: &Meaning) -> Option<Vec<ReplyEvent>> {
        let slot = self.dialogue.slot();
        let is_open = slot.is_some_and(|slot| slot.name.is_none());
        let is_free = slot.is_some_and(Slot::takes_anything);
        match (heard, self.known) {
            (Meaning::Answer(value), Some(known)) if !is_free => {
                let name = slot.and_then(|slot| slot.name.clone()).unwrap_or_default();
                self.dialogue.close();
                self.dialogue.collected += 1;
                let mut events = vec![kept(&name, value)];
                events.extend(self.go_on(known));
                Some(events)
            }
            (Meaning::Answer(_) | Meaning::Unclear | Meaning::NotAsked, Some(known)) => Some(self.go_on(known)),
            (Meaning::Answer(_), None) if is_open => Some(self.go_on(NOT_KNOWN)),
            (Meaning::Unclear, None) => Some(self.go_on(NOT_KNOWN)),
            _ => None,
        }
    }

    /// Continues after a question of the user: with the present question, or with their next.
    fn go_on(&self, told: &str) -> Vec<ReplyEvent> {
        match self.dialogue.slot() {
            Some(slot) if slot.name.is_some() => self.next(told),
            Some(_) | None => say(format!("{told} {ANYTHING_ELSE}")),
        }
    }

    /// Returns the last words for an intent that ends the call.
    fn leave(&self, intent: Intent, text: &str) -> Option<Vec<ReplyEvent>> {
        let reply = match intent {
            Intent::Person => return self.hand_on(text),
            Intent::OptOut if self.agent.platform_settings.call_actions.smart_opt_out => {
                self.end("Understood, we won't call you again. Goodbye.", "opt_out")
            }
            Intent::OptOut => self.end("Understood. Sorry for the trouble. Goodbye.", "opt_out"),
            Intent::WrongNumber => self.end("I'm sorry for the trouble. Goodbye.", "wrong_number"),
            Intent::NotInterested => self.end("All right. Thank you for your time. Goodbye.", "not_interested"),
            Intent::CallBack if self.dialogue.when_asked == 0 => return None,
            Intent::CallBack => self.end("Of course. Another time, then. Goodbye.", "call_back"),
            Intent::Goodbye => self.end("Thank you for your time. Goodbye!", "goodbye"),
            Intent::WhoIsThis | Intent::Repeat | Intent::HoldOn | Intent::Refusal => return None,
        };
        Some(reply)
    }

    /// Returns the transfer whose condition shares most words with the wish, otherwise the first; none if
    /// there is no transfer.
    fn hand_on(&self, wish: &str) -> Option<Vec<ReplyEvent>> {
        let tools = &self.agent.conversation_config.agent.prompt.built_in_tools;
        let usable = tools.transfer_to_number.usable();
        let fits = |transfer: &UsableTransfer| shared_words(&transfer.condition, wish);
        // The first of equals wins.
        let Some(best) = usable.iter().rev().max_by_key(|transfer| fits(transfer)) else {
            let (number, _) = self.successor(wish)?;
            return Some(call("transferToAgent", json!({ "agent_number": number })));
        };
        Some(vec![ReplyEvent::Tool {
            name: "transferToNumber".into(),
            arguments: json!({ "transfer_number": best.to.as_str(), "message": HAND_ON }),
            echo: None,
        }])
    }

    fn aside(&mut self, intent: Intent) -> Vec<ReplyEvent> {
        match intent {
            Intent::Person => self.next("I'm sorry, I can't put you through."),
            Intent::WhoIsThis => self.next(&self.who()),
            Intent::CallBack => say(format!("Of course. {WHEN}")),
            Intent::HoldOn => say("Of course, take your time."),
            Intent::Repeat => self.unclear("Of course."),
            Intent::Refusal => {
                self.dialogue.close();
                self.next("No problem.")
            }
            // These have already ended the call.
            Intent::OptOut | Intent::WrongNumber | Intent::NotInterested | Intent::Goodbye => self.next(""),
        }
    }

    fn who(&self) -> String {
        let name = self.agent.name.trim();
        match self.dialogue.called_us {
            true => format!("This is {name}, an automated assistant."),
            false => format!("This is an automated call from {name}."),
        }
    }

    fn collect(&mut self, value: &Value) -> Vec<ReplyEvent> {
        let name = self.dialogue.slot().and_then(|slot| slot.name.clone());
        self.dialogue.close();
        let Some(name) = name else {
            if self.booking.is_some() {
                return self.next("Thank you, I've made a note of that.");
            }
            return self.end("Thank you, I've made a note of that. Goodbye!", "completed");
        };
        self.dialogue.collected += 1;
        self.acknowledge(&name, value)
    }

    /// Stores an answer again after it continued, because nobody heard the reply to its first part.
    fn amend(&self, slot: usize, value: &Value) -> Vec<ReplyEvent> {
        let name = self.dialogue.slots.get(slot).and_then(|slot| slot.name.as_deref());
        self.acknowledge(name.unwrap_or_default(), value)
    }

    fn acknowledge(&self, name: &str, value: &Value) -> Vec<ReplyEvent> {
        let before = self.dialogue.collected.saturating_sub(1);
        let mut events = vec![kept(name, value)];
        events.extend(self.next(ACKNOWLEDGEMENTS[before % ACKNOWLEDGEMENTS.len()]));
        events
    }

    /// Returns whether only the greeting was said and nothing was answered.
    fn is_greeted_only(&self) -> bool {
        let unanswered = self.dialogue.collected == 0 && self.dialogue.failures == 0;
        self.dialogue.agent_turns == 1 && unanswered && !self.greeting.trim().is_empty()
    }

    /// Repeats what was not heard; a greeting is repeated from its beginning.
    fn say_again(&self) -> Vec<ReplyEvent> {
        match self.is_greeted_only() {
            // The greeting's own question comes first.
            true if self.greeting.trim_end().ends_with('?') => say(format!("Of course. {}", self.greeting.trim())),
            true => self.next(&format!("Of course. {}", self.greeting.trim())),
            false if self.dialogue.agent_turns == 0 => self.next(""),
            false => self.next("Of course."),
        }
    }

    fn unclear(&mut self, opening: &str) -> Vec<ReplyEvent> {
        if self.dialogue.fail() {
            return self.next("Never mind.");
        }
        match self.dialogue.slot() {
            Some(slot) => say(format!("{opening} {}", slot.question.again)),
            None => self.next(""),
        }
    }

    fn not_asked(&mut self) -> Vec<ReplyEvent> {
        let greeted = self.dialogue.agent_turns == 1;
        if self.dialogue.cut_short {
            let rest = if greeted { self.unheard_greeting() } else { "" };
            let opening = if rest.is_empty() { "All right." } else { rest };
            return self.next(opening);
        }
        self.next("")
    }

    /// Returns the unheard rest of the greeting if it was interrupted.
    fn unheard_greeting(&self) -> &str {
        let heard = self.dialogue.last_said.as_deref().unwrap_or_default();
        let mut rest = self.greeting;
        for word in heard.split_whitespace() {
            let Some(after) = rest.trim_start().strip_prefix(word) else {
                return "";
            };
            rest = after;
        }
        rest.trim()
    }

    /// Returns whether only the appointment is left.
    fn books(&self) -> bool {
        self.booking.is_some_and(Booking::is_begun)
    }

    fn book(&self, turn: &Turn) -> Vec<ReplyEvent> {
        let next = self.booking.map(|booking| booking.hear(&turn.text, turn.damaged));
        next.map_or_else(|| self.next(""), |next| self.spoken(next))
    }

    /// Continues with the present question, or ends the call.
    fn next(&self, opening: &str) -> Vec<ReplyEvent> {
        let opening = match opening {
            // Nothing of the greeting was heard.
            "" if self.dialogue.agent_turns == 0 && !self.greeting.is_empty() => self.greeting,
            "" if self.dialogue.agent_turns == 0 => "Hello!",
            opening => opening,
        };
        let gap = if opening.is_empty() { "" } else { " " };
        if let (None, Some(booking)) = (self.dialogue.slot(), self.booking) {
            return self.spoken(booking.next(opening));
        }
        match self.dialogue.slot() {
            // The rest of the greeting may contain the question already.
            Some(slot) if opening.ends_with(&slot.question.first) => say(opening),
            Some(slot) => say(format!("{opening}{gap}{}", slot.question.first)),
            None if self.dialogue.collected > 0 => self.end("Thank you, that's everything. Goodbye!", "completed"),
            None => self.end("Thank you for your time. Goodbye!", "completed"),
        }
    }
}
