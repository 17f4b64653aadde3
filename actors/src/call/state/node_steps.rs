//! Carries out the steps of a walk: replies, tools, transfers, hand-overs, and the end.

use domain::{
    agent::UsableTransfer,
    id::ToolId,
    pieces::{has_words, spoken},
    ports::language_model::{HistoryItem, Speaker},
    template::{self, Place},
    workflow::{HandOver, Input, Message, Step},
};
use serde_json::Value;

use super::{Effect, State, another_agent::HandoverWish, speculation::Waste, transfer::Pending};

/// Tools of the present node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Number of the choice of arguments in progress.
    choosing: Option<u64>,
    /// Runs in progress.
    runs: Vec<u64>,
    failed: bool,
}

impl Progress {
    /// Forgets a choice of arguments. Returns whether there was one.
    pub(super) fn stop_choosing(&mut self) -> bool {
        self.choosing.take().is_some()
    }
}

impl State {
    /// Carries out a step in which the agent acts. Returns whether its turn goes on, or the walk's next input if there
    /// is nothing to carry out.
    pub(super) fn carry_out(&mut self, step: Step, now_ms: u64, fx: &mut Vec<Effect>) -> Result<bool, Input<'static>> {
        if let Step::Adopt { node, reply: true } = step {
            self.adopt_node(Some(&node), fx);
            self.reply_in_node(Some(&node), now_ms, fx);
            return Ok(true);
        }
        // The reply made ahead is for the node before.
        self.drop_early(Waste::Overtaken, fx);
        match step {
            Step::Adopt { node, .. } => {
                self.adopt_node(Some(&node), fx);
                return Ok(false);
            }
            Step::Say { node, message } => self.say_message(&node, &message, now_ms, fx)?,
            Step::RunTools { tools, .. } => self.choose_arguments(tools, now_ms, fx),
            Step::Transfer { transfer, .. } => self.transfer_from_node(transfer, now_ms, fx),
            Step::HandTo { .. } if self.was_handed_over_too_often() => return Err(Input::NotEntered),
            Step::HandTo { to, .. } => self.hand_to(to, now_ms, fx),
            Step::End { .. } => self.end_in_node(now_ms, fx),
            Step::Judge { .. } | Step::Reply | Step::Wait => return Ok(false),
        }
        Ok(true)
    }

    /// Takes an input once the present turn is over.
    pub(super) fn expect(&mut self, input: Input<'static>) {
        if let Some(walking) = &mut self.walking {
            walking.due = Some(input);
        }
    }

    /// Returns a text as it is spoken, with its placeholders filled in.
    fn in_words(&self, text: &str) -> String {
        let known = self.graph().map(|rules| self.known(rules)).unwrap_or_default();
        let texts = self.walking.as_ref().map(|walking| walking.walk.texts(&known));
        spoken(&template::render(Place::Greeting, text, &texts.unwrap_or(known)))
    }

    fn say_message(
        &mut self,
        node: &str,
        message: &Message,
        now_ms: u64,
        fx: &mut Vec<Effect>,
    ) -> Result<(), Input<'static>> {
        if self.graph().is_some_and(|rules| rules.graph.awaits_answer(node)) {
            // Words before the question are no answer to it.
            self.forget_words();
        } else if self.user.unanswered {
            self.judge_later();
        }
        if self.graph().is_some_and(|rules| rules.graph.changes_message(node)) {
            self.adopt_node(Some(node), fx);
        }
        let text = match message {
            Message::Prompt { .. } => {
                self.expect(Input::Spoken);
                self.think(now_ms, fx);
                return Ok(());
            }
            Message::Literal { text } => self.in_words(text),
        };
        if !has_words(&text) {
            return Err(Input::Spoken);
        }
        self.expect(Input::Spoken);
        self.begin_reply(now_ms, fx);
        self.say_in_node(text, now_ms, fx);
        self.reply_ended(now_ms, fx);
        Ok(())
    }

    /// Says a fixed text as the reply that was begun.
    fn say_in_node(&mut self, text: String, now_ms: u64, fx: &mut Vec<Effect>) {
        self.speak_piece(text.into(), now_ms, fx);
        if let Some(speech) = &mut self.speech {
            speech.by_model = false;
        }
    }

    fn choose_arguments(&mut self, tools: Vec<ToolId>, now_ms: u64, fx: &mut Vec<Effect>) {
        self.pause_reply(now_ms, fx);
        let Some(walking) = &mut self.walking else { return };
        walking.number += 1;
        let number = walking.number;
        walking.tools = Progress {
            choosing: Some(number),
            ..Progress::default()
        };
        fx.push(Effect::ChooseArguments { number, tools });
    }

    /// Runs the tools of the node with the arguments that were chosen. If there are none, a tool is unavailable.
    pub(super) fn arguments_chosen(
        &mut self,
        number: u64,
        chosen: Vec<(String, Value)>,
        now_ms: u64,
        fx: &mut Vec<Effect>,
    ) {
        let Some(walking) = self
            .walking
            .as_mut()
            .filter(|walking| walking.tools.choosing == Some(number))
        else {
            return;
        };
        walking.tools.choosing = None;
        if chosen.is_empty() {
            return self.tools_over(Input::NotEntered, now_ms, fx);
        }
        let runs = chosen.into_iter();
        let runs = runs
            .map(|(name, arguments)| self.begin_run((&name, arguments, None), fx))
            .collect();
        if let Some(walking) = &mut self.walking {
            walking.tools.runs = runs;
        }
    }

    /// Takes the end of a run. Returns false if the run is none of the node's.
    pub(super) fn node_tool_answered(&mut self, run: u64, successful: bool, now_ms: u64, fx: &mut Vec<Effect>) -> bool {
        let Some(walking) = &mut self.walking else { return false };
        let Some(at) = walking.tools.runs.iter().position(|known| *known == run) else {
            return false;
        };
        walking.tools.runs.swap_remove(at);
        walking.tools.failed |= !successful;
        if walking.tools.runs.is_empty() {
            let successful = !walking.tools.failed;
            walking.tools = Progress::default();
            self.tools_over(Input::ToolsDone { successful }, now_ms, fx);
        }
        true
    }

    /// Goes on with the walk, at once unless somebody else speaks or the audio is gone.
    fn tools_over(&mut self, input: Input<'static>, now_ms: u64, fx: &mut Vec<Effect>) {
        self.expect(input);
        if self.may_walk() {
            self.go_on_walking(now_ms, fx);
        }
    }

    fn transfer_from_node(&mut self, wanted: UsableTransfer, now_ms: u64, fx: &mut Vec<Effect>) {
        self.expect(Input::NotEntered);
        self.person_wanted(fx);
        self.begin_reply(now_ms, fx);
        self.reply.protected = self.rules.transfer_protected;
        self.reply.transfer = Some(Pending { wanted, message: None });
        self.reply_ended(now_ms, fx);
    }

    fn hand_to(&mut self, to: HandOver, now_ms: u64, fx: &mut Vec<Effect>) {
        self.expect(Input::NotEntered);
        self.begin_reply(now_ms, fx);
        self.reply.protected = self.rules.agents_protected;
        let message = to.message.as_deref().map(|message| self.in_words(message));
        let to = HandOver {
            message: message.filter(|message| has_words(message)),
            ..to
        };
        self.reply.another = Some(HandoverWish { run: None, to });
        self.reply_ended(now_ms, fx);
    }

    /// Ends the call, with a goodbye if the user spoke last.
    fn end_in_node(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        // An end that something prevents is made up for.
        self.expect(Input::Resumed { done: None });
        self.begin_reply(now_ms, fx);
        self.reply.end_call = true;
        self.reply.protected = true;
        let agent_spoke_last = matches!(
            self.history.last_said(),
            Some(HistoryItem::Said {
                speaker: Speaker::Agent,
                interrupted: false,
                ..
            })
        );
        if !agent_spoke_last || self.is_only_filled() {
            self.say_in_node(self.rules.phrases.goodbye().to_owned(), now_ms, fx);
        }
        self.reply_ended(now_ms, fx);
    }
}
