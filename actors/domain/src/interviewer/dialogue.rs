//! State of an interview, derived from its history alone: values collected, the present question, and its
//! failed answers.

use serde_json::Value;

use super::{
    answer, appointment, asking,
    dictated::{self, Dictated},
    meaning::{Meaning, Turn},
    outside::Outside,
    phrases::{self, Intent},
    slot::{Slot, last_question},
};
use crate::{
    callback_time,
    ports::{
        language_model::{HistoryItem, Speaker},
        store::CallDirection,
    },
    prompt::is_built_in,
};

/// Misunderstood answers after which a question is dropped: it is repeated twice.
const MAX_FAILURES: usize = 3;
/// Limit of user turns in an interview, whatever they are about: per question, and in addition.
const TURNS_PER_QUESTION: usize = 4;
const TURNS_BESIDES: usize = 6;
/// Most times that the agent asks when to call back, if it did not hear the answer.
const MAX_WHEN: usize = 2;
/// Questions in a greeting to which "no" means "not now".
const IS_IT_A_GOOD_TIME: [&str; 5] = ["good time", "a moment", "a minute", "have time", "free to talk"];

/// An answer that was accepted, or its first digits.
struct Answered {
    slot: usize,
    text: String,
    /// Null until it is a complete answer.
    value: Value,
    reply: Playback,
}

/// Extent to which the reply to an answer was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Playback {
    Unheard,
    CutShort,
    Heard,
}

impl Answered {
    /// Records that the agent was heard. Until it speaks again, only dictated answers may continue.
    fn replied(self, interrupted: bool) -> Option<Self> {
        let reply = match interrupted {
            true => Playback::CutShort,
            false => Playback::Heard,
        };
        (self.reply == Playback::Unheard).then_some(Self { reply, ..self })
    }
}

/// Last item of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Nothing,
    Agent,
    User,
    Tool,
    Silence,
}

/// State of an interview.
pub(super) struct Dialogue {
    /// Whether the other person called us.
    pub called_us: bool,
    /// Whether the agent has documents to answer from.
    pub knows: bool,
    pub slots: Vec<Slot>,
    /// Whether each question was answered or dropped.
    done: Vec<bool>,
    /// Number of values collected.
    pub collected: usize,
    /// Misunderstood answers to the present question.
    pub failures: usize,
    /// Whether the present question was heard to its end.
    pub asked: bool,
    /// The agent's words since the user's last turn, and whether they were interrupted.
    said: Option<(String, bool)>,
    /// Last words of the agent that were heard.
    pub last_said: Option<String>,
    /// Whether the agent was interrupted when it spoke last.
    pub cut_short: bool,
    /// Number of the agent's turns.
    pub agent_turns: usize,
    pub user_turns: usize,
    /// Consecutive silences.
    pub silences: usize,
    /// Number of times that a user who wants a later call was asked when, without an answer so far.
    pub when_asked: usize,
    pub outside: Outside,
    /// Whether the call was told to end.
    pub ended: bool,
    /// Last accepted answer, while it may continue.
    answered: Option<Answered>,
    pub last: Last,
    /// Last words of the user without a reply.
    pub turn: Option<Turn>,
}

impl Dialogue {
    /// Replays a history.
    pub fn replay(slots: Vec<Slot>, direction: CallDirection, knows: bool, history: &[HistoryItem]) -> Self {
        let mut dialogue = Self {
            called_us: direction == CallDirection::Inbound,
            knows,
            done: vec![false; slots.len()],
            slots,
            collected: 0,
            failures: 0,
            asked: false,
            said: None,
            last_said: None,
            cut_short: false,
            agent_turns: 0,
            user_turns: 0,
            silences: 0,
            when_asked: 0,
            outside: Outside::default(),
            ended: false,
            answered: None,
            last: Last::Nothing,
            turn: None,
        };
        for item in history {
            dialogue.take(item);
        }
        dialogue
    }

    /// Returns the index of the present question.
    pub fn current(&self) -> Option<usize> {
        self.done.iter().position(|done| !done)
    }

    /// Returns the present question.
    pub fn slot(&self) -> Option<&Slot> {
        self.slots.get(self.current()?)
    }

    /// Returns whether the interview has taken long enough.
    pub fn is_too_long(&self) -> bool {
        self.user_turns > TURNS_BESIDES + TURNS_PER_QUESTION * self.slots.len()
    }

    /// Closes the present question, because it was answered or never will be.
    pub fn close(&mut self) {
        if let Some(done) = self.current().and_then(|index| self.done.get_mut(index)) {
            *done = true;
        }
        self.failures = 0;
        self.asked = false;
    }

    /// Closes all questions, because the conversation is about something else from now on.
    pub fn close_all(&mut self) {
        while self.current().is_some() {
            self.close();
        }
    }

    /// Counts an answer that was not understood; returns true if the question is dropped.
    pub fn fail(&mut self) -> bool {
        self.failures += 1;
        let dropped = self.failures >= MAX_FAILURES;
        if dropped {
            self.close();
        }
        dropped
    }

    /// Returns whether a turn asks something that documents may answer.
    pub fn is_question(&self, turn: &Turn) -> bool {
        self.knows && self.when_asked == 0 && asking::asks(&turn.text)
    }

    /// Interprets a turn of the user in the present state.
    pub fn hear(&self, turn: &Turn) -> Meaning {
        match self.understand(turn) {
            Meaning::CallAt(_) | Meaning::Aside(Intent::CallBack) if self.called_us => Meaning::NoCall,
            heard => heard,
        }
    }

    fn understand(&self, turn: &Turn) -> Meaning {
        let mut intent = phrases::intent(&turn.text);
        if self.when_asked > 0 {
            return self.hear_when(turn, intent);
        }
        if intent.is_none() && self.is_no_good_time(turn) {
            intent = Some(Intent::CallBack);
        }
        let time = phrases::call_back_time(&turn.text).filter(|_| intent == Some(Intent::CallBack) && !turn.damaged);
        if let Some(time) = time.filter(|_| !self.slot().is_some_and(|slot| self.asked && slot.is_about("call"))) {
            return Meaning::CallAt(time);
        }
        if let Some(more) = self.more(turn).filter(|_| intent.is_none()) {
            return more;
        }
        let Some(slot) = self.slot() else {
            return intent.map_or(Meaning::NotAsked, Meaning::Aside);
        };
        if let Some(intent) = intent.filter(|intent| !self.is_answer(slot, *intent)) {
            return Meaning::Aside(intent);
        }
        if self
            .last_said
            .as_deref()
            .is_some_and(|said| slot.is_passed_over(said, &turn.text))
        {
            return Meaning::NotAsked;
        }
        if !self.asked {
            let early = (!turn.damaged).then(|| self.early(slot, &turn.text)).flatten();
            return early.map_or(Meaning::NotAsked, Meaning::Answer);
        }
        if turn.damaged {
            return Meaning::Unclear;
        }
        match slot.understand(&turn.text) {
            Some(value) => Meaning::Answer(value),
            None if slot.is_only_attended_to_by(&turn.text) => Meaning::Attention,
            None => Meaning::Unclear,
        }
    }

    /// Interprets the answer to "When would suit you?". If it contains no time, no time suits.
    fn hear_when(&self, turn: &Turn, intent: Option<Intent>) -> Meaning {
        match intent {
            Some(Intent::OptOut | Intent::WrongNumber | Intent::NotInterested) => {
                return intent.map_or(Meaning::Unclear, Meaning::Aside);
            }
            _ if turn.damaged && self.when_asked < MAX_WHEN => return Meaning::Aside(Intent::Repeat),
            _ if turn.damaged => return Meaning::Aside(Intent::CallBack),
            _ => {}
        }
        if let Some(time) = callback_time::parse_answer(&turn.text) {
            return Meaning::CallAt(time);
        }
        match intent {
            Some(aside @ (Intent::Repeat | Intent::WhoIsThis | Intent::HoldOn)) if self.when_asked < MAX_WHEN => {
                Meaning::Aside(aside)
            }
            Some(Intent::Goodbye) => Meaning::Aside(Intent::Goodbye),
            _ => Meaning::Aside(Intent::CallBack),
        }
    }

    /// Returns whether this is a "no" to a greeting that asks whether it is a good time.
    fn is_no_good_time(&self, turn: &Turn) -> bool {
        let asked = self.last_said.as_deref().and_then(last_question).unwrap_or_default();
        self.collected == 0
            && !self.asked
            && !self.cut_short
            && IS_IT_A_GOOD_TIME.iter().any(|phrase| asked.contains(phrase))
            && answer::yes_or_no(&turn.text) == Some(false)
    }

    /// Returns whether an intent such as "call me back" is the answer, because the question is about it.
    fn is_answer(&self, slot: &Slot, intent: Intent) -> bool {
        self.asked
            && match intent {
                Intent::CallBack => slot.name.is_none() || slot.is_about("call"),
                Intent::NotInterested => slot.is_about("interest"),
                Intent::OptOut | Intent::WrongNumber | Intent::WhoIsThis | Intent::Repeat | Intent::Person => false,
                Intent::HoldOn | Intent::Refusal | Intent::Goodbye => false,
            }
    }

    /// Returns the continuation of an answer that got no reply yet ("Friday." "At ten o'clock."), or more digits.
    fn more(&self, turn: &Turn) -> Option<Meaning> {
        let answered = self.answered.as_ref()?;
        let slot = self.slots.get(answered.slot)?;
        let goes_on = match answered.reply {
            Playback::Unheard => slot.wants(&turn.text),
            Playback::CutShort | Playback::Heard => self.are_more_digits(&turn.text, answered, slot),
        };
        if turn.damaged || !goes_on {
            return None;
        }
        let value = answer::understand(&slot.entity, &dictated::joined(&answered.text, &turn.text))?;
        match answered.value {
            Value::Null => Some(Meaning::Answer(value)),
            _ => (value != answered.value).then_some(Meaning::More(answered.slot, value)),
        }
    }

    /// Returns whether the digits continue the previous ones, although the agent took those for complete.
    /// First digits that were no answer continue only if the agent was interrupted; when asked again, people
    /// start over.
    fn are_more_digits(&self, text: &str, answered: &Answered, slot: &Slot) -> bool {
        if !slot.is_dictated() || !dictated::is_digits(text) {
            return false;
        }
        if answered.value.is_null() {
            return answered.reply == Playback::CutShort && self.current() == Some(answered.slot);
        }
        let asked = |next: &&Slot| {
            let begun = self.cut_short && self.last_said.as_deref().is_some_and(|said| next.is_begun_in(said));
            self.asked || begun
        };
        !self
            .slot()
            .filter(asked)
            .is_some_and(|next| next.takes_digits(text, &answered.text, slot))
    }

    /// Returns the answer to a question that was not heard to its end. It must be unambiguous or refer to the
    /// question itself.
    fn early(&self, slot: &Slot, text: &str) -> Option<Value> {
        let plain = phrases::plain(text);
        let introduces = ["my name is", "my name's", "this is"]
            .iter()
            .any(|phrase| phrases::contains(&plain, phrase));
        let begun = || self.cut_short && self.last_said.as_deref().is_some_and(|said| slot.is_begun_in(said));
        let value = answer::understand(&slot.entity, text)?;
        match value {
            Value::Bool(_) => slot.is_spoken_of(&plain).then_some(value),
            Value::String(_) if slot.entity.allowed.is_empty() => {
                let named = introduces && slot.is_about_a_name() && slot.name.is_some();
                (named || begun() && slot.wants(text)).then_some(value)
            }
            value => self.cut_short.then_some(value),
        }
    }

    fn take(&mut self, item: &HistoryItem) {
        match item {
            HistoryItem::Said {
                speaker: Speaker::User,
                text,
                damaged,
                ..
            } => self.take_user(text, *damaged),
            HistoryItem::Said {
                speaker: Speaker::Agent | Speaker::Operator,
                text,
                interrupted,
                ..
            } => {
                self.settle();
                self.answered = self.answered.take().and_then(|answered| answered.replied(*interrupted));
                self.agent_turns += 1;
                self.cut_short = *interrupted;
                self.last_said = Some(text.clone());
                self.outside.told(text);
                let before = self.said.take().map(|(before, _)| before + " ").unwrap_or_default();
                self.said = Some((before + text, *interrupted));
                self.recognise();
                self.last = Last::Agent;
            }
            HistoryItem::Tool {
                name,
                arguments,
                result,
                ..
            } => {
                match name.as_str() {
                    "collect" => self.take_collected(arguments),
                    "endCall" => self.ended = true,
                    "languageDetection" | "skipTurn" | "transferToAgent" | "transferToNumber" => self.settle(),
                    name if is_built_in(name) || appointment::is_tool(name) => {}
                    name => {
                        self.turn = None;
                        self.outside.take(name, result);
                    }
                }
                self.last = Last::Tool;
            }
            HistoryItem::Silence => {
                self.settle();
                self.silences += 1;
                self.last = Last::Silence;
            }
        }
    }

    fn take_user(&mut self, text: &str, damaged: bool) {
        if self.turn.is_none() {
            self.user_turns += 1;
            self.said = None;
        }
        let turn = self.turn.get_or_insert_default();
        if !turn.text.is_empty() {
            turn.text.push(' ');
        }
        turn.text.push_str(text);
        turn.damaged |= damaged;
        self.silences = 0;
        self.ended = false;
        self.last = Last::User;
    }

    fn take_collected(&mut self, arguments: &Value) {
        let entity = arguments.get("entity").and_then(Value::as_str);
        let index = self
            .slots
            .iter()
            .position(|slot| slot.name.as_deref() == entity && entity.is_some());
        if let (Some(entity), Some(value)) = (entity, arguments.get("value")) {
            self.outside.values.insert(entity.to_owned(), value.clone());
        }
        let Some(index) = index else { return };
        self.note_answer(index, arguments.get("value"));
        let current = self.current() == Some(index);
        if let Some(done) = self.done.get_mut(index).filter(|done| !**done) {
            *done = true;
            self.collected += 1;
        }
        if current {
            self.failures = 0;
            self.asked = false;
            // The history may contain the next question before the tool that came with it.
            self.recognise();
        }
        self.turn = None;
    }

    /// Stores the user's last words as the answer, which may continue.
    fn note_answer(&mut self, slot: usize, value: Option<&Value>) {
        let before = self.answered.take().filter(|answered| answered.slot == slot);
        let (Some(turn), Some(value)) = (&self.turn, value) else {
            return;
        };
        let before = before.map_or_else(String::new, |before| before.text);
        self.answered = Some(Answered {
            slot,
            text: dictated::joined(&before, &turn.text),
            value: value.clone(),
            reply: Playback::Unheard,
        });
    }

    /// Stores first digits that are no answer yet.
    fn note_digits(&mut self, turn: &Turn) {
        let phone = |slot: &&Slot| Dictated::of(&slot.entity.description) == Some(Dictated::Phone);
        let begun = self.slot().filter(phone).is_some() && !dictated::phone(&turn.text).is_empty();
        self.answered = self.current().filter(|_| begun && !turn.damaged).map(|slot| Answered {
            slot,
            text: turn.text.clone(),
            value: Value::Null,
            reply: Playback::Unheard,
        });
    }

    /// Records whether the agent's words since the user's last turn contain the present question.
    fn recognise(&mut self) {
        let said = self.said.as_ref().map(|(text, _)| text.as_str());
        let asked = self.slot().zip(said).is_some_and(|(slot, said)| slot.asked_in(said));
        self.asked |= asked;
    }

    /// Closes the user's turn in the way that the reply to it must have done.
    fn settle(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        let heard = self.hear(&turn);
        let asks = self.is_question(&turn);
        let waits = match heard {
            Meaning::Aside(Intent::CallBack) => self.when_asked == 0,
            Meaning::Aside(Intent::Repeat | Intent::WhoIsThis | Intent::HoldOn) => self.when_asked > 0,
            _ => false,
        };
        self.when_asked = if waits { self.when_asked + 1 } else { 0 };
        match heard {
            Meaning::Aside(_) if waits => {}
            Meaning::Aside(Intent::Refusal) if self.asked => self.close(),
            Meaning::Aside(Intent::Repeat) if self.asked => drop(self.fail()),
            // The reply to a question shows whether it was an answer as well.
            Meaning::Answer(_) if asks => {}
            Meaning::Unclear if asks => self.note_digits(&turn),
            Meaning::Unclear => {
                self.note_digits(&turn);
                self.fail();
            }
            Meaning::Answer(_) if self.slot().is_some_and(|slot| slot.name.is_none()) => self.close(),
            // An answer counts once it was collected, which the tool shows.
            Meaning::Answer(_) | Meaning::More(..) | Meaning::Aside(_) | Meaning::CallAt(_) | Meaning::NoCall => {}
            Meaning::Attention | Meaning::NotAsked => {}
        }
    }
}
