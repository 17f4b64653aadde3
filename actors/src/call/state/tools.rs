//! Tools that run outside the call. The model starts them, they answer while the conversation goes on, and
//! the model learns the result in the next reply, which is requested at once if nobody is speaking.

use serde_json::{Value, json};

use crate::call::history::FormerRun;
use crate::call::state::{
    Effect, Phase, State, ToolAnswer, Waste, filler, node_steps, opt_out, reply, reply::MAX_TOOL_ROUNDS, speculation,
    walking,
};
use domain::{
    ports::store::{EventFact, TAKEN_OVER, TOOL, TOOL_BEGUN},
    secrets::masked,
    text::cut,
};

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

/// Name of the event for a built-in tool, which answers at once.
pub const BUILT_IN_TOOL: &str = "built_in_tool";

/// Most bytes kept of the arguments, and of the answer, of one run.
const MOST_RECORDED: usize = 4 * 1024;

/// Bytes that a call may keep in its first minute, and in each further one.
const MINUTE_BYTES: u64 = 6 * 1024;

/// Returns the runs of the processes that held the call before, oldest first.
pub fn former_runs(events: &[EventFact]) -> Vec<FormerRun> {
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
pub struct OutsideTools {
    offered: Vec<String>,
    running: Vec<Running>,
    runs: u64,
    /// Bytes of arguments and answers recorded so far.
    bytes: u64,
    /// Whether there are results on which the model was not asked yet.
    news: bool,
}

impl OutsideTools {
    pub fn offer(&mut self, names: Vec<String>) {
        self.offered = names;
    }

    pub fn offers(&self, name: &str) -> bool {
        self.offered.iter().any(|offered| offered == name)
    }

    /// Creates the state for a call that other processes have held before, from its `events`.
    pub fn inherited(events: &[EventFact]) -> Self {
        let owners = 1 + events.iter().filter(|event| event.name == TAKEN_OVER).count();
        Self {
            runs: NUMBERS_OF_ONE_OWNER.saturating_mul(u64::try_from(owners).unwrap_or(u64::MAX)),
            ..Self::default()
        }
    }

    /// Returns the next run number. It is unique across all owners of the call.
    pub fn number(&mut self) -> u64 {
        self.runs += 1;
        self.runs
    }

    pub fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Notes that the model is asked with all results so far.
    pub fn told(&mut self) {
        self.news = false;
    }

    pub fn has_news(&self) -> bool {
        self.news
    }
}

/// Starts a tool outside the call on the model's request.
pub fn run_tool(call: &mut State, (name, arguments, echo): (&str, Value, Option<Box<Value>>)) {
    let refusal = match call.reply.rounds {
        MAX_TOOL_ROUNDS.. => Some("no more tools before they have spoken again: answer with what you know"),
        _ if call.tools.running.len() >= MOST_RUNS => Some("too many tools run already: wait for their results"),
        _ => None,
    };
    if let Some(refusal) = refusal {
        tool_done(call, (name, arguments, echo), json!({ "error": refusal }));
        return;
    }
    begin_run(call, (name, arguments, echo));
}

/// Starts a tool outside the call. Returns the number of the run.
pub fn begin_run(call: &mut State, (name, arguments, echo): (&str, Value, Option<Box<Value>>)) -> u64 {
    let run = call.tools.number();
    let until_then = json!({ "status": "running", "note": UNTIL_THEN });
    call.history
        .tool_begun(run, (name, arguments.clone()), until_then, echo);
    let name = name.to_owned();
    call.tools.running.push(Running {
        run,
        name: name.clone(),
    });
    let detail = json!({ "name": name, "run": run });
    record_tool(call, TOOL_BEGUN, detail, &[("arguments", &arguments)]);
    call.fx.push(Effect::RunTool { run, name, arguments });
    run
}

/// Handles the end of a run. The result is kept whatever happens in the call.
pub fn tool_answered(call: &mut State, answer: ToolAnswer) {
    let ToolAnswer { run, result, took_ms } = answer;
    let Some(known) = call.tools.running.iter().position(|running| running.run == run) else {
        return;
    };
    let Running { name, .. } = call.tools.running.swap_remove(known);
    if call.phase == Phase::Ended {
        return;
    }
    let successful = result.is_ok();
    let detail = json!({ "name": name, "run": run, "ok": successful, "ms": took_ms });
    let settled = result.unwrap_or_else(|why| json!({ "error": why }));
    record_tool(call, TOOL, detail, &[("result", &settled)]);
    call.history.tool_settled(run, settled);
    if node_steps::node_tool_answered(call, run, successful) {
        return;
    }
    call.tools.news = true;
    // The reply was made without this result.
    speculation::drop_early(call, Waste::Overtaken);
    if call.tools.running.is_empty() {
        tell_model(call);
    }
}

/// Asks the model on the results if nobody speaks and no reply is being made. If an opt-out question is
/// open, it waits: the reply to the answer will tell the results too.
fn tell_model(call: &mut State) {
    let silent = match call.phase {
        Phase::Thinking | Phase::Speaking => reply::says_nothing(call) && !call.reply.open && !leaves(call),
        Phase::Listening => !call.user.speaking,
        _ => false,
    };
    if silent && !walking::is_walking(call) && !opt_out::awaits_opt_out(call) {
        ask_on_results(call);
    }
}

pub fn ask_on_results(call: &mut State) {
    call.reply.rounds += 1;
    reply::think(call);
}

/// Returns whether the agent's turn continues once its tools have answered.
pub fn waits_for_tools(call: &State) -> bool {
    !call.tools.running.is_empty() && !call.reply.skips && !leaves(call)
}

/// Waits for the tools after the agent has said everything it had to say. The silence now is the agent's.
pub fn await_tools(call: &mut State) {
    if !filler::is_only_filled(call) {
        call.phase = Phase::Thinking;
    }
    filler::await_reply(call);
}

/// Returns whether the present reply is the agent's last.
pub fn leaves(call: &State) -> bool {
    let another = call.reply.another.is_some() || call.handovers.is_changing();
    call.reply.end_call || call.reply.transfer.is_some() || another
}

/// Records an event of a tool. Values that are too long are cut to the beginning of their JSON text.
pub fn record_tool(call: &mut State, name: &str, detail: Value, kept: &[(&str, &Value)]) {
    let at_ms = call.elapsed_ms(call.now_ms);
    let mut detail = detail;
    for (field, value) in kept {
        let value = masked(value);
        let text = value.to_string();
        let minutes = 1 + u64::try_from(at_ms).unwrap_or(0) / 60_000;
        let left = (minutes * MINUTE_BYTES).saturating_sub(call.tools.bytes);
        let most = usize::try_from(left).unwrap_or(MOST_RECORDED).min(MOST_RECORDED);
        let short = cut(&text, most);
        call.tools.bytes += short.len() as u64;
        let whole = short.len() == text.len();
        detail[*field] = if whole { value } else { short.into() };
        if !whole {
            detail["cut"] = true.into();
        }
    }
    call.record_at(name, at_ms, &detail);
}

/// Records a built-in tool, or an outside one that was refused, and adds it to the history.
pub fn tool_done(call: &mut State, (name, arguments, echo): (&str, Value, Option<Box<Value>>), result: Value) {
    let kept = [("arguments", &arguments), ("result", &result)];
    record_tool(call, BUILT_IN_TOOL, json!({ "name": name }), &kept);
    call.history.tool(name, arguments, result, echo);
}
