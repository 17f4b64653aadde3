//! Tools that run outside the call. The model starts them, they answer while the conversation goes on, and
//! the model learns the result in the next reply, which is requested at once if nobody is speaking.

use serde_json::{Value, json};

use super::{Effect, Phase, State, ToolAnswer, reply::MAX_TOOL_ROUNDS, speculation::Waste};
use crate::call::history::FormerRun;
use domain::ports::store::{EventFact, TAKEN_OVER, TOOL, TOOL_BEGUN};

/// Most runs in progress at once in one call.
const MOST_RUNS: usize = 4;

/// Text the model gets for a run that has no result yet.
const UNTIL_THEN: &str =
    "it is running; you are told its result as soon as there is one. Do not call it again for this";

/// Text the model gets for a run of a dead process that succeeded. The next two are for a run that failed, and for one
/// without a known result.
const WAS_DONE: &str = "it was done before the line was gone for a moment, and its result is lost. Do not call it again \
                        for this; if its result is needed, ask or look it up otherwise";
const HAD_FAILED: &str = "it failed before the line was gone for a moment; something may have been done all the same";
const OUTCOME_UNKNOWN: &str = "it was begun before the line was gone for a moment: it may have been done. Do not call it \
                            again for this, and say that you cannot tell whether it was done";

/// Distance between the run numbers of successive owners of a call, so that runs whose facts the previous
/// owner could not record keep their numbers.
const NUMBERS_OF_ONE_OWNER: u64 = 1_000_000;

/// Returns the runs of the processes that held the call before, oldest first.
pub(super) fn former_runs(events: &[EventFact]) -> Vec<FormerRun> {
    let detail = |event: &EventFact| serde_json::from_str::<Value>(&event.detail).unwrap_or(Value::Null);
    let answers: Vec<Value> = events.iter().filter(|event| event.name == TOOL).map(detail).collect();
    let begun = events.iter().filter(|event| event.name == TOOL_BEGUN);
    let runs = begun.filter_map(|event| {
        let of = detail(event);
        let name = of["name"].as_str()?.to_owned();
        let answer = answers.iter().find(|answer| answer["run"] == of["run"]);
        let told = match answer.map(|answer| answer["ok"] == true) {
            Some(true) => json!({ "status": "done", "note": WAS_DONE }),
            Some(false) => json!({ "status": "failed", "note": HAD_FAILED }),
            None => json!({ "status": "unknown", "note": OUTCOME_UNKNOWN }),
        };
        Some(FormerRun {
            at_ms: event.at_ms,
            name,
            told,
        })
    });
    runs.collect()
}

/// A run in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Running {
    run: u64,
    name: String,
}

/// The tools that are offered and the runs in progress.
#[derive(Debug, Clone, Default)]
pub(super) struct OutsideTools {
    offered: Vec<String>,
    running: Vec<Running>,
    runs: u64,
    /// Whether there are results on which the model was not asked yet.
    news: bool,
}

impl OutsideTools {
    pub(super) fn offer(&mut self, names: Vec<String>) {
        self.offered = names;
    }

    pub(super) fn offers(&self, name: &str) -> bool {
        self.offered.iter().any(|offered| offered == name)
    }

    /// Creates the state for a call that other processes have held before, from its `events`.
    pub(super) fn inherited(events: &[EventFact]) -> Self {
        let owners = 1 + events.iter().filter(|event| event.name == TAKEN_OVER).count();
        Self {
            runs: NUMBERS_OF_ONE_OWNER.saturating_mul(u64::try_from(owners).unwrap_or(u64::MAX)),
            ..Self::default()
        }
    }

    /// Returns the next run number. It is unique across all owners of the call.
    pub(super) fn number(&mut self) -> u64 {
        self.runs += 1;
        self.runs
    }

    /// Notes that the model is asked on all results so far.
    pub(super) fn told(&mut self) {
        self.news = false;
    }

    pub(super) fn has_news(&self) -> bool {
        self.news
    }
}

impl State {
    /// Starts a tool outside the call on the model's request.
    pub(super) fn run_tool(&mut self, (name, arguments, echo): (&str, Value, Option<Box<Value>>)) {
        let refusal = match self.reply.rounds {
            MAX_TOOL_ROUNDS.. => Some("no more tools before they have spoken again: answer with what you know"),
            _ if self.tools.running.len() >= MOST_RUNS => Some("too many tools run already: wait for their results"),
            _ => None,
        };
        if let Some(refusal) = refusal {
            self.tool_done((name, arguments, echo), json!({ "error": refusal }));
            return;
        }
        self.begin_run((name, arguments, echo));
    }

    /// Starts a tool outside the call. Returns the number of the run.
    pub(super) fn begin_run(&mut self, (name, arguments, echo): (&str, Value, Option<Box<Value>>)) -> u64 {
        let run = self.tools.number();
        let until_then = json!({ "status": "running", "note": UNTIL_THEN });
        self.history
            .tool_begun(run, (name, arguments.clone()), until_then, echo);
        let name = name.to_owned();
        self.tools.running.push(Running {
            run,
            name: name.clone(),
        });
        let detail = json!({ "name": name, "run": run });
        self.record_tool(TOOL_BEGUN, detail, &[("arguments", &arguments)]);
        self.fx.push(Effect::RunTool { run, name, arguments });
        run
    }

    /// Returns whether a tool outside the call is in progress.
    pub fn runs_tool(&self) -> bool {
        !self.tools.running.is_empty()
    }

    /// Handles the end of a run. The result is kept whatever happens in the call.
    pub(super) fn tool_answered(&mut self, answer: ToolAnswer) {
        let ToolAnswer { run, result, took_ms } = answer;
        let Some(known) = self.tools.running.iter().position(|running| running.run == run) else {
            return;
        };
        let Running { name, .. } = self.tools.running.swap_remove(known);
        if self.phase == Phase::Ended {
            return;
        }
        let successful = result.is_ok();
        let detail = json!({ "name": name, "run": run, "ok": successful, "ms": took_ms });
        let settled = result.unwrap_or_else(|why| json!({ "error": why }));
        self.record_tool(TOOL, detail, &[("result", &settled)]);
        self.history.tool_settled(run, settled);
        if self.node_tool_answered(run, successful) {
            return;
        }
        self.tools.news = true;
        // The reply was made without this result.
        self.drop_early(Waste::Overtaken);
        if self.tools.running.is_empty() {
            self.tell_model();
        }
    }

    /// Asks the model on the results if nobody speaks and no reply is being made. If an opt-out question is
    /// open, it waits: the reply to the answer will tell the results too.
    fn tell_model(&mut self) {
        let silent = match self.phase {
            Phase::Thinking | Phase::Speaking => self.says_nothing() && !self.reply.open && !self.leaves(),
            Phase::Listening => !self.user.speaking,
            _ => false,
        };
        if silent && !self.is_walking() && !self.awaits_opt_out() {
            self.ask_on_results();
        }
    }

    pub(super) fn ask_on_results(&mut self) {
        self.reply.rounds += 1;
        self.think();
    }

    /// Returns whether the agent's turn continues once its tools have answered.
    pub(super) fn waits_for_tools(&self) -> bool {
        !self.tools.running.is_empty() && !self.reply.skips && !self.leaves()
    }

    /// Waits for the tools after the agent has said everything it had to say. The silence now is the agent's.
    pub(super) fn await_tools(&mut self) {
        if !self.is_only_filled() {
            self.phase = Phase::Thinking;
        }
        self.await_reply(self.now_ms);
    }

    /// Returns whether the present reply is the agent's last.
    pub(super) fn leaves(&self) -> bool {
        let another = self.reply.another.is_some() || self.taking_over.is_some();
        self.reply.end_call || self.reply.transfer.is_some() || another
    }
}
