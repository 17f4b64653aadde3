//! The walk of a call through the conversation graph of its agent: `walking` gives it its inputs, `node_steps` carries
//! out what it returns, `router` asks the model.

pub mod node_steps;
pub mod router;
pub mod walking;

use self::{node_steps::Progress, router::Asked};
use crate::call::state::rules::Rules;
use domain::workflow::{HandOver, Input, Walk};

/// Walk of a call through the graph of its agent.
#[derive(Debug, Clone)]
pub struct Walking {
    walk: Walk,
    /// Input that follows once the agent's turn is over, or at the end of the user's if that is sooner.
    due: Option<Input<'static>>,
    /// Question on whose answer the call waits.
    asked: Option<Asked>,
    /// Question made in a pause of the user.
    ahead: Option<Asked>,
    /// Number of the last question, and of the last choice of arguments.
    number: u64,
    /// Tools of the present node.
    tools: Progress,
    /// Node whose changes of the agent are in use.
    adopted: Option<String>,
    /// Words that were not judged, because the agent spoke first.
    unjudged: Option<String>,
    /// Words that the present turn ended with, and whether they were damaged.
    turn: Option<(String, bool)>,
    /// Whether the user's last words were judged.
    judged: bool,
}

impl Walking {
    /// Creates the walk of a call that begins with these rules, if their agent has a graph.
    pub fn of(rules: &Rules) -> Option<Box<Self>> {
        let rules = rules.graph.as_ref()?;
        Some(Self::new(Walk::new(rules.agent), Input::Begin))
    }

    fn new(walk: Walk, due: Input<'static>) -> Box<Self> {
        Box::new(Self {
            adopted: walk.adopted().map(str::to_owned),
            walk,
            due: Some(due),
            asked: None,
            ahead: None,
            number: 0,
            tools: Progress::default(),
            unjudged: None,
            turn: None,
            judged: false,
        })
    }

    pub fn at(&self) -> Option<&str> {
        self.walk.at()
    }

    pub fn adopted(&self) -> Option<&str> {
        self.adopted.as_deref()
    }

    pub fn handed_to(&self, to: &HandOver) -> Walk {
        self.walk.handed_to(to)
    }

    pub fn words_came(&mut self) {
        self.judged = false;
    }

    pub fn has_unjudged(&self) -> bool {
        self.unjudged.is_some()
    }

    fn awaits_tools(&self) -> bool {
        self.tools != Progress::default()
    }
}
