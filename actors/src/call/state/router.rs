//! Questions of the walk to the router, a model that judges conditions and gives values. Conditions are asked for in the
//! user's pause, beside the reply made ahead, and again only if the words change.

use serde_json::Value;

use super::{
    Effect, Phase, State,
    speculation::{EarlyReply, Waste, normalised},
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

impl Asked {
    pub(super) fn new(said: Option<&str>, candidates: Vec<Candidate>, questions: Vec<Question>, at_ms: u64) -> Self {
        Self {
            number: 0,
            said: said.map(normalised),
            candidates,
            questions,
            at_ms,
            answer: None,
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.said == other.said && self.candidates == other.candidates && self.questions == other.questions
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

impl State {
    /// Returns the answer if it is known: from the words if no model judges, or from a question made ahead.
    pub(super) fn judged(&self, asked: &Asked) -> Option<Judgement> {
        let walking = self.walking.as_ref()?;
        if self.graph()?.by_words {
            let said = asked.said.clone().or_else(|| self.last_words()).unwrap_or_default();
            let (candidates, questions) = (&asked.candidates, &asked.questions);
            return Some(judge::by_words(candidates, questions, &said, walking.walk.values()));
        }
        let ahead = walking.ahead.as_ref().filter(|ahead| ahead.is_same(asked));
        ahead?.answer.clone()
    }

    /// Asks the router, unless it is being asked the same already. The call waits for its answer.
    pub(super) fn ask_router(&mut self, asked: Asked) {
        self.pause_reply();
        let ahead = self.walking.as_mut().and_then(|walking| walking.ahead.take());
        let asked = match ahead.filter(|ahead| ahead.is_same(&asked)) {
            // The call waits only from now on.
            Some(ahead) => Asked {
                at_ms: self.now_ms,
                ..ahead
            },
            None => self.asked_now(asked),
        };
        if let Some(walking) = &mut self.walking {
            walking.asked = Some(asked);
        }
    }

    fn asked_now(&mut self, mut asked: Asked) -> Asked {
        if let Some(walking) = &mut self.walking {
            walking.number += 1;
            asked.number = walking.number;
        }
        self.fx.push(Effect::AskRouter {
            number: asked.number,
            candidates: asked.candidates.clone(),
            questions: asked.questions.clone(),
        });
        asked
    }

    /// Begins the reply made ahead, in the node that the words so far lead to. If a model judges that, it is asked at
    /// the same time.
    pub(super) fn ask_ahead(&mut self) {
        let (Some(rules), Some(walking)) = (self.rules.graph.clone(), &self.walking) else {
            return self.fx.push(Effect::StartReply);
        };
        if walking.due.is_some() || walking.awaits_tools() {
            self.early = None;
            return;
        }
        let (mut walk, known) = (walking.walk.clone(), self.known(&rules));
        let said = words_in(self.asked().last()).unwrap_or_default();
        let mut step = walk.step(&rules.graph, &known, &Input::Heard { said: &said }).step;
        if let Step::Judge { candidates, questions } = step {
            let asked = Asked::new(Some(&said), candidates, questions, self.now_ms);
            step = match self.judged(&asked) {
                Some((choice, values)) => {
                    let judged = Input::Judged { choice, values };
                    walk.step(&rules.graph, &known, &judged).step
                }
                None => {
                    let asked = self.asked_now(asked);
                    if let Some(walking) = &mut self.walking {
                        walking.ahead = Some(asked);
                    }
                    // After most turns the call stays in its node.
                    Step::Reply
                }
            };
        }
        let here = self.node().map(str::to_owned);
        // Tools and documents of a node are looked up once the call is there.
        let brings_tools = |node: &String| rules.graph.brings_tools(node);
        match step {
            Step::Reply => self.fx.push(Effect::StartReply),
            Step::Adopt { node, reply: true } if !brings_tools(&node) && !here.as_ref().is_some_and(brings_tools) => {
                if let Some(early) = &mut self.early {
                    early.node = Some(node.clone());
                }
                self.fx.push(Effect::StartReplyIn(node));
            }
            _ => self.early = None,
        }
    }

    /// Drops the question that was made ahead.
    pub(super) fn drop_ahead(&mut self) {
        let ahead = self.walking.as_mut().and_then(|walking| walking.ahead.take());
        if ahead.is_some() {
            self.fx.push(Effect::CancelRouter);
        }
    }

    /// Takes the router's answer.
    pub(super) fn router_answered(&mut self, number: u64, (choice, values): Judgement) {
        let may_walk = self.may_walk();
        let Some(walking) = &mut self.walking else { return };
        let is_this = |asked: &Option<Asked>| asked.as_ref().is_some_and(|asked| asked.number == number);
        if is_this(&walking.ahead) {
            let answered = walking.ahead.take().map(|ahead| Asked {
                answer: Some((choice, values)),
                ..ahead
            });
            let early = self.early.as_ref().filter(|_| matches!(choice, Choice::Candidate(_)));
            let again =
                early.map(|early| EarlyReply::new(early.pause.clone(), self.now_ms, self.rules.directions.clone()));
            if again.is_some() {
                self.drop_early(Waste::Overtaken);
            }
            if let Some(walking) = &mut self.walking {
                walking.ahead = answered;
            }
            if again.is_some() {
                self.early = again;
                self.ask_ahead();
            }
        } else if is_this(&walking.asked) {
            let judged = Input::Judged { choice, values };
            if may_walk {
                if !self.walk(&judged) {
                    self.go_on_walking();
                }
            } else if let Some(asked) = walking.asked.take() {
                match asked.said {
                    None => walking.due = Some(judged),
                    // The user speaks again. The words are judged with the new ones, or if there are none after all.
                    said if self.phase == Phase::Listening => walking.unjudged = said,
                    Some(_) => {}
                }
            }
        }
    }
}
