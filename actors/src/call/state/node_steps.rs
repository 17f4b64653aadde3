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
    pub(super) fn carry_out(&mut self, step: Step) -> Result<bool, Input<'static>> {
        if let Step::Adopt { node, reply: true } = step {
            self.adopt_node(Some(&node));
            self.reply_in_node(Some(&node));
            return Ok(true);
        }
        // The reply made ahead is for the node before.
        self.drop_early(Waste::Overtaken);
        match step {
            Step::Adopt { node, .. } => {
                self.adopt_node(Some(&node));
                return Ok(false);
            }
            Step::Say { node, message } => self.say_message(&node, &message)?,
            Step::RunTools { tools, .. } => self.choose_arguments(tools),
            Step::Transfer { transfer, .. } => self.transfer_from_node(transfer),
            Step::HandTo { .. } if self.was_handed_over_too_often() => return Err(Input::NotEntered),
            Step::HandTo { to, .. } => self.hand_to(to),
            Step::End { .. } => self.end_in_node(),
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

    fn say_message(&mut self, node: &str, message: &Message) -> Result<(), Input<'static>> {
        if self.graph().is_some_and(|rules| rules.graph.awaits_answer(node)) {
            // Words before the question are no answer to it.
            self.forget_words();
        } else if self.user.unanswered {
            self.judge_later();
        }
        if self.graph().is_some_and(|rules| rules.graph.changes_message(node)) {
            self.adopt_node(Some(node));
        }
        let text = match message {
            Message::Prompt { .. } => {
                self.expect(Input::Spoken);
                self.think();
                return Ok(());
            }
            Message::Literal { text } => self.in_words(text),
        };
        if !has_words(&text) {
            return Err(Input::Spoken);
        }
        self.expect(Input::Spoken);
        self.begin_reply();
        self.say_in_node(text);
        self.reply_ended();
        Ok(())
    }

    /// Says a fixed text as the reply that was begun.
    fn say_in_node(&mut self, text: String) {
        self.speak_piece(text.into());
        if let Some(speech) = &mut self.speech {
            speech.by_model = false;
        }
    }

    fn choose_arguments(&mut self, tools: Vec<ToolId>) {
        self.pause_reply();
        let Some(walking) = &mut self.walking else { return };
        walking.number += 1;
        let number = walking.number;
        walking.tools = Progress {
            choosing: Some(number),
            ..Progress::default()
        };
        self.fx.push(Effect::ChooseArguments { number, tools });
    }

    /// Runs the tools of the node with the arguments that were chosen. If there are none, a tool is unavailable.
    pub(super) fn arguments_chosen(&mut self, number: u64, chosen: Vec<(String, Value)>) {
        let Some(walking) = self
            .walking
            .as_mut()
            .filter(|walking| walking.tools.choosing == Some(number))
        else {
            return;
        };
        walking.tools.choosing = None;
        if chosen.is_empty() {
            return self.tools_over(Input::NotEntered);
        }
        let runs = chosen.into_iter();
        let runs = runs
            .map(|(name, arguments)| self.begin_run((&name, arguments, None)))
            .collect();
        if let Some(walking) = &mut self.walking {
            walking.tools.runs = runs;
        }
    }

    /// Takes the end of a run. Returns false if the run is none of the node's.
    pub(super) fn node_tool_answered(&mut self, run: u64, successful: bool) -> bool {
        let Some(walking) = &mut self.walking else { return false };
        let Some(at) = walking.tools.runs.iter().position(|known| *known == run) else {
            return false;
        };
        walking.tools.runs.swap_remove(at);
        walking.tools.failed |= !successful;
        if walking.tools.runs.is_empty() {
            let successful = !walking.tools.failed;
            walking.tools = Progress::default();
            self.tools_over(Input::ToolsDone { successful });
        }
        true
    }

    /// Goes on with the walk, at once unless somebody else speaks or the audio is gone.
    fn tools_over(&mut self, input: Input<'static>) {
        self.expect(input);
        if self.may_walk() {
            self.go_on_walking();
        }
    }

    fn transfer_from_node(&mut self, wanted: UsableTransfer) {
        self.expect(Input::NotEntered);
        self.person_wanted();
        self.begin_reply();
        self.reply.protected = self.rules.transfer_protected;
        self.reply.transfer = Some(Pending { wanted, message: None });
        self.reply_ended();
    }

    fn hand_to(&mut self, to: HandOver) {
        self.expect(Input::NotEntered);
        self.begin_reply();
        self.reply.protected = self.rules.agents_protected;
        let message = to.message.as_deref().map(|message| self.in_words(message));
        let to = HandOver {
            message: message.filter(|message| has_words(message)),
            ..to
        };
        self.reply.another = Some(HandoverWish { run: None, to });
        self.reply_ended();
    }

    /// Ends the call, with a goodbye if the user spoke last.
    fn end_in_node(&mut self) {
        // An end that something prevents is made up for.
        self.expect(Input::Resumed { done: None });
        self.begin_reply();
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
            self.say_in_node(self.rules.phrases.goodbye().to_owned());
        }
        self.reply_ended();
    }
}
