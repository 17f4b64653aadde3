//! Questions of the walk to the router, a model that judges conditions and gives values. Conditions are asked for in the
//! user's pause, beside the reply made ahead, and again only if the words change.

use serde_json::Value;

use crate::call::state::{EarlyReply, Effect, Phase, State, Waste, speculation, speculation::normalised, walking};
use domain::{
    ports::language_model::{HistoryItem, Speaker},
    workflow::{Candidate, Choice, Input, Question, Step, judge},
};

/// Answer of the router: its choice, and the values that were asked for.
pub type Judgement = (Choice, Vec<Option<Value>>);

/// Question to the router.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    number: u64,
    /// The user's last words, if they are what is judged.
    pub said: Option<String>,
    candidates: Vec<Candidate>,
    pub questions: Vec<Question>,
    pub at_ms: u64,
    answer: Option<Judgement>,
}

impl Asked {
    pub fn new(said: Option<&str>, candidates: Vec<Candidate>, questions: Vec<Question>, at_ms: u64) -> Self {
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
pub fn words_in(item: Option<&HistoryItem>) -> Option<String> {
    match item? {
        HistoryItem::Said {
            speaker: Speaker::User,
            text,
            ..
        } => Some(text.clone()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

/// Returns the answer if it is known: from the words if no model judges, or from a question made ahead.
pub fn judged(call: &State, asked: &Asked) -> Option<Judgement> {
    let walking = call.walking.as_ref()?;
    if call.graph()?.by_words {
        let said = asked
            .said
            .clone()
            .or_else(|| walking::last_words(call))
            .unwrap_or_default();
        let (candidates, questions) = (&asked.candidates, &asked.questions);
        return Some(judge::by_words(candidates, questions, &said, walking.walk.values()));
    }
    let ahead = walking.ahead.as_ref().filter(|ahead| ahead.is_same(asked));
    ahead?.answer.clone()
}

/// Asks the router, unless it is being asked the same already. The call waits for its answer.
pub fn ask_router(call: &mut State, asked: Asked) {
    walking::pause_reply(call);
    let ahead = call.walking.as_mut().and_then(|walking| walking.ahead.take());
    let asked = match ahead.filter(|ahead| ahead.is_same(&asked)) {
        // The call waits only from now on.
        Some(ahead) => Asked {
            at_ms: call.now_ms,
            ..ahead
        },
        None => asked_now(call, asked),
    };
    if let Some(walking) = &mut call.walking {
        walking.asked = Some(asked);
    }
}

fn asked_now(call: &mut State, mut asked: Asked) -> Asked {
    if let Some(walking) = &mut call.walking {
        walking.number += 1;
        asked.number = walking.number;
    }
    call.fx.push(Effect::AskRouter {
        number: asked.number,
        candidates: asked.candidates.clone(),
        questions: asked.questions.clone(),
    });
    asked
}

/// Begins the reply made ahead, in the node that the words so far lead to. If a model judges that, it is asked at
/// the same time.
pub fn ask_ahead(call: &mut State) {
    let (Some(rules), Some(walking)) = (call.rules.graph.clone(), &call.walking) else {
        return call.fx.push(Effect::StartReply);
    };
    if walking.due.is_some() || walking.awaits_tools() {
        call.early = None;
        return;
    }
    let (mut walk, known) = (walking.walk.clone(), walking::known(call, &rules));
    let said = words_in(call.asked().last()).unwrap_or_default();
    let mut step = walk.step(&rules.graph, &known, &Input::Heard { said: &said }).step;
    if let Step::Judge { candidates, questions } = step {
        let asked = Asked::new(Some(&said), candidates, questions, call.now_ms);
        step = match judged(call, &asked) {
            Some((choice, values)) => {
                let judged = Input::Judged { choice, values };
                walk.step(&rules.graph, &known, &judged).step
            }
            None => {
                let asked = asked_now(call, asked);
                if let Some(walking) = &mut call.walking {
                    walking.ahead = Some(asked);
                }
                // After most turns the call stays in its node.
                Step::Reply
            }
        };
    }
    let here = call.node().map(str::to_owned);
    // Tools and documents of a node are looked up once the call is there.
    let brings_tools = |node: &String| rules.graph.brings_tools(node);
    match step {
        Step::Reply => call.fx.push(Effect::StartReply),
        Step::Adopt { node, reply: true } if !brings_tools(&node) && !here.as_ref().is_some_and(brings_tools) => {
            if let Some(early) = &mut call.early {
                early.node = Some(node.clone());
            }
            call.fx.push(Effect::StartReplyIn(node));
        }
        _ => call.early = None,
    }
}

/// Drops the question that was made ahead.
pub fn drop_ahead(call: &mut State) {
    let ahead = call.walking.as_mut().and_then(|walking| walking.ahead.take());
    if ahead.is_some() {
        call.fx.push(Effect::CancelRouter);
    }
}

/// Takes the router's answer.
pub fn router_answered(call: &mut State, number: u64, (choice, values): Judgement) {
    let may_walk = walking::may_walk(call);
    let Some(walking) = &mut call.walking else { return };
    let is_this = |asked: &Option<Asked>| asked.as_ref().is_some_and(|asked| asked.number == number);
    if is_this(&walking.ahead) {
        let answered = walking.ahead.take().map(|ahead| Asked {
            answer: Some((choice, values)),
            ..ahead
        });
        let early = call.early.as_ref().filter(|_| matches!(choice, Choice::Candidate(_)));
        let again = early.map(|early| EarlyReply::new(early.pause.clone(), call.now_ms, call.rules.directions.clone()));
        if again.is_some() {
            speculation::drop_early(call, Waste::Overtaken);
        }
        if let Some(walking) = &mut call.walking {
            walking.ahead = answered;
        }
        if again.is_some() {
            call.early = again;
            ask_ahead(call);
        }
    } else if is_this(&walking.asked) {
        let judged = Input::Judged { choice, values };
        if may_walk {
            if !walking::walk(call, &judged) {
                walking::go_on_walking(call);
            }
        } else if let Some(asked) = walking.asked.take() {
            match asked.said {
                None => walking.due = Some(judged),
                // The user speaks again. The words are judged with the new ones, or if there are none after all.
                said if call.phase == Phase::Listening => walking.unjudged = said,
                Some(_) => {}
            }
        }
    }
}
