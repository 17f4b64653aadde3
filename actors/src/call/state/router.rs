//! Questions of the walk to the router, a model that judges conditions and gives values. Conditions are asked for in the
//! user's pause, beside the reply made ahead, and again only if the words change.

use serde_json::Value;

use super::{
    Effect, State,
    speculation::{Waste, normalised},
};
use domain::{
    ports::language_model::{HistoryItem, Speaker},
    workflow::{Candidate, Choice, Input, Question, Step, judge},
};

/// Answer of the router: its choice, and the values that were asked for.
pub type Judgement = (Choice, Vec<Option<Value>>);

/// Question to the router.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    number: u64,
    /// The user's last words, if they are what is judged.
    pub(super) said: Option<String>,
    candidates: Vec<Candidate>,
    pub(super) questions: Vec<Question>,
    pub(super) at_ms: u64,
    answer: Option<Judgement>,
}

impl State {
    pub(super) fn asks(&self, said: Option<String>, candidates: Vec<Candidate>, questions: Vec<Question>) -> Asked {
        Asked {
            number: 0,
            said,
            candidates,
            questions,
            at_ms: self.now_ms,
            answer: None,
        }
    }

    /// Returns the answer if it is known: from the words if no model judges, or from a question made ahead.
    pub(super) fn judged(&mut self, asked: &Asked) -> Option<Judgement> {
        let by_words = self.graph().is_some_and(|rules| rules.by_words);
        let said = self.last_words().unwrap_or_default();
        let walking = self.walking.as_mut()?;
        if by_words {
            let Asked {
                candidates, questions, ..
            } = asked;
            return Some(judge::by_words(candidates, questions, &said, walking.walk.values()));
        }
        walking
            .ahead
            .take_if(|ahead| ahead.is_same(asked) && ahead.answer.is_some())?
            .answer
    }

    /// Asks the router, unless it is being asked the same already. The call waits for its answer.
    pub(super) fn ask_router(&mut self, asked: Asked, now_ms: u64, fx: &mut Vec<Effect>) {
        self.pause_reply(now_ms, fx);
        let Some(walking) = &mut self.walking else { return };
        if let Some(ahead) = walking.ahead.take_if(|ahead| ahead.is_same(&asked)) {
            // What the call waited for counts, not what the pause hid.
            walking.asked = Some(Asked {
                at_ms: asked.at_ms,
                ..ahead
            });
            return;
        }
        walking.ahead = None;
        walking.number += 1;
        let number = walking.number;
        fx.push(asked.effect(number));
        walking.asked = Some(Asked { number, ..asked });
    }

    /// Has the reply made ahead begun, in the node that the words so far lead to. If a model judges that, it is asked
    /// beside it.
    pub(super) fn ask_ahead(&mut self, fx: &mut Vec<Effect>) {
        let Some(rules) = self.rules.graph.clone() else {
            return fx.push(Effect::StartReply);
        };
        let said = words_in(self.asked().last()).unwrap_or_default();
        let known = self.known(&rules);
        let at_ms = self.now_ms;
        let Some(walking) = &mut self.walking else { return };
        if walking.due.is_some() || walking.awaits_tools() {
            self.early = None;
            return;
        }
        let mut walk = walking.walk.clone();
        let mut step = walk.step(&rules.graph, &known, &Input::Heard { said: &said }).step;
        if let Step::Judge { candidates, questions } = step {
            if rules.by_words {
                let (choice, values) = judge::by_words(&candidates, &questions, &said, walk.values());
                step = walk.step(&rules.graph, &known, &Input::Judged { choice, values }).step;
            } else {
                walking.number += 1;
                let asked = Asked {
                    number: walking.number,
                    said: Some(normalised(&said)),
                    candidates,
                    questions,
                    at_ms,
                    answer: None,
                };
                fx.push(asked.effect(asked.number));
                walking.ahead = Some(asked);
                // Most words lead nowhere else.
                step = Step::Reply;
            }
        }
        self.reply_ahead(step, fx);
    }

    /// Has the reply made ahead begun where a step leads, or drops it.
    fn reply_ahead(&mut self, step: Step, fx: &mut Vec<Effect>) {
        let brings = |node: Option<&str>| {
            let node = node.and_then(|node| self.graph()?.graph.node(node));
            node.is_some_and(|node| !node.changes.tool_ids.is_empty() || !node.changes.knowledge_base.is_empty())
        };
        match step {
            Step::Reply => fx.push(Effect::StartReply),
            // Tools and documents of another node are looked up once the call is there.
            Step::Adopt { node, reply: true } if !brings(Some(&node)) && !brings(self.node()) => {
                if let Some(early) = &mut self.early {
                    early.node = Some(node.clone());
                    fx.push(Effect::StartReplyIn(node));
                }
            }
            _ => self.early = None,
        }
    }

    /// Takes the router's answer in a pause of the user: a reply that is being made for another node is begun anew.
    fn answered_ahead(&mut self, judgement: Judgement, fx: &mut Vec<Effect>) {
        let (Some(rules), Some(said)) = (self.rules.graph.clone(), words_in(self.asked().last())) else {
            return;
        };
        let known = self.known(&rules);
        let Some(walking) = &mut self.walking else { return };
        let mut walk = walking.walk.clone();
        let (choice, values) = judgement.clone();
        if let Some(ahead) = &mut walking.ahead {
            ahead.answer = Some(judgement);
        }
        walk.step(&rules.graph, &known, &Input::Heard { said: &said });
        let step = walk.step(&rules.graph, &known, &Input::Judged { choice, values }).step;
        let Some(early) = self.early.as_ref().filter(|_| step != Step::Reply) else {
            return;
        };
        let again = early.again(self.now_ms, self.rules.directions.clone());
        let ahead = walking.ahead.take();
        self.drop_early(Waste::Overtaken, fx);
        self.early = Some(again);
        if let Some(walking) = &mut self.walking {
            walking.ahead = ahead;
        }
        self.reply_ahead(step, fx);
    }

    /// Drops the question that was made ahead.
    pub(super) fn drop_ahead(&mut self, fx: &mut Vec<Effect>) {
        let ahead = self.walking.as_mut().and_then(|walking| walking.ahead.take());
        if ahead.is_some() {
            fx.push(Effect::CancelRouter);
        }
    }

    /// Takes the router's answer.
    pub(super) fn router_answered(&mut self, number: u64, judgement: Judgement, now_ms: u64, fx: &mut Vec<Effect>) {
        let Some(walking) = &mut self.walking else { return };
        let is_this = |asked: &Option<Asked>| asked.as_ref().is_some_and(|asked| asked.number == number);
        if is_this(&walking.ahead) {
            self.answered_ahead(judgement, fx);
        } else if is_this(&walking.asked) {
            let (choice, values) = judgement;
            if !self.may_walk() {
                // The user speaks again: words that were judged will be judged with the new ones.
                let asked = self.walking.as_mut().and_then(|walking| walking.asked.take());
                if asked.is_some_and(|asked| asked.said.is_none()) {
                    self.expect(Input::Judged { choice, values });
                }
            } else if !self.walk(Input::Judged { choice, values }, now_ms, fx) {
                self.go_on_walking(now_ms, fx);
            }
        }
    }
}

impl Asked {
    fn is_same(&self, other: &Self) -> bool {
        self.said == other.said && self.candidates == other.candidates && self.questions == other.questions
    }

    fn effect(&self, number: u64) -> Effect {
        Effect::AskRouter {
            number,
            candidates: self.candidates.clone(),
            questions: self.questions.clone(),
        }
    }
}

/// Returns the words of an item if the user said them.
pub(super) fn words_in(item: Option<&HistoryItem>) -> Option<String> {
    match item? {
        HistoryItem::Said {
            speaker: Speaker::User,
            text,
            ..
        } => Some(text.clone()).filter(|text| !text.is_empty()),
        _ => None,
    }
}
