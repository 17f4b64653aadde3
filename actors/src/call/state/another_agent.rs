//! Handing the call to another agent, or switching the present agent's language. The caller, the leg and the
//! history stay the same.

use crate::call::state::{
    AgentUnavailable, Effect, Phase, Rules, State, Waste, disclosing, ending, opt_out, reply, speculation, speech,
    talk, tools, tools::BUILT_IN_TOOL, walking,
};
use domain::{agent::Successor, workflow::HandOver};
use serde_json::{Value, json};

/// Maximum number of agent hand-overs in one call.
const MOST_HANDOVERS: u32 = 5;

/// Note to the model about a hand-over that was requested.
const UNTIL_THEN: &str = "begins once your words were heard";

/// Note to the agent that took the call over.
const TAKEN_OVER: &str = "the call was handed to you: what was said before was said by the agent before you. Go on from \
                          here, and do not ask again what they have told";

/// Hand-over that starts once the present speech was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoverWish {
    /// Run number of the model's tool, for its result. `None` if the graph hands the call over.
    pub run: Option<u64>,
    pub to: HandOver,
}

/// Hand-over in progress: the other agent is being looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakingOver {
    wanted: HandoverWish,
    try_no: u32,
}

/// The hand-overs to another agent.
#[derive(Debug, Clone, Default)]
pub struct Handovers {
    /// Number so far.
    count: u32,
    in_progress: Option<TakingOver>,
}

impl Handovers {
    /// Creates the state of a call that was handed over `count` times.
    pub fn after(count: u32) -> Self {
        Self {
            count,
            ..Self::default()
        }
    }

    pub fn are_used_up(&self) -> bool {
        self.count >= MOST_HANDOVERS
    }

    /// Returns whether another agent is being looked up.
    pub fn is_changing(&self) -> bool {
        self.in_progress.is_some()
    }
}

/// Returns the agent that the model means, by number or by the exact condition.
fn meant(rules: &Rules, arguments: &Value) -> Option<Successor> {
    let named = arguments.get("agent_number")?;
    let place = match named {
        Value::Number(number) => number.as_u64(),
        Value::String(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        Value::String(text) => {
            let same = |condition: &str| !condition.is_empty() && condition == text.trim();
            return rules.agents.iter().find(|agent| same(&agent.condition)).cloned();
        }
        _ => None,
    };
    rules.agents.get(usize::try_from(place?).ok()?).cloned()
}

/// Handles the model's request to hand the call to another agent.
pub fn agent_wanted(call: &mut State, arguments: Value, echo: Option<Box<Value>>) {
    const NAME: &str = "transferToAgent";
    let to = meant(&call.rules, &arguments);
    let refusal = match &to {
        None => Some("give `agent_number`, one of those that are offered"),
        Some(_) if call.handovers.are_used_up() => Some("this call was handed over too often: go on with it yourself"),
        Some(_) if tools::leaves(call) => Some("the call is being handed over or ended already"),
        Some(_) => None,
    };
    let (Some(to), None) = (to, refusal) else {
        tools::tool_done(call, (NAME, arguments, echo), json!({ "error": refusal }));
        return;
    };
    let run = call.tools.number();
    let until_then = json!({ "ok": true, "note": UNTIL_THEN });
    let kept = [("arguments", &arguments), ("result", &until_then)];
    tools::record_tool(call, BUILT_IN_TOOL, json!({ "name": NAME }), &kept);
    call.history.tool_begun(run, (NAME, arguments), until_then, echo);
    call.reply.protected |= call.rules.agents_protected;
    call.reply.another = Some(HandoverWish {
        run: Some(run),
        to: HandOver {
            agent: to.agent,
            entry: None,
            delay_ms: to.delay_ms,
            message: to.message,
            greets: to.greets,
        },
    });
}

/// Says the announcement before the hand-over, if one is configured.
pub fn announce_another(call: &mut State) {
    let wanted = call.reply.another.as_ref();
    if let Some(message) = wanted.and_then(|wanted| wanted.to.message.clone()) {
        reply::speak_piece(call, message.into());
    }
}

/// Cancels the hand-over that was requested.
pub fn keep_agent(call: &mut State) {
    if let Some(wanted) = call.reply.another.take() {
        not_handed_over(call, &wanted);
    }
}

/// Cancels the hand-over that is in progress.
pub fn stop_taking_over(call: &mut State) {
    if let Some(TakingOver { wanted, .. }) = call.handovers.in_progress.take() {
        not_handed_over(call, &wanted);
    }
}

fn not_handed_over(call: &mut State, wanted: &HandoverWish) {
    told_model(
        call,
        wanted,
        json!({ "error": "not done: the conversation took another turn" }),
    );
}

/// Sets the result of the model's tool, if the model asked for the hand-over.
fn told_model(call: &mut State, wanted: &HandoverWish, result: Value) {
    if let Some(run) = wanted.run {
        call.history.tool_settled(run, result);
    }
}

/// Looks up the other agent, now that the speech before the hand-over was heard.
pub fn hand_over(call: &mut State, wanted: HandoverWish) {
    call.handovers.count += 1;
    let try_no = call.handovers.count;
    let (agent, after_ms) = (wanted.to.agent, wanted.to.delay_ms);
    let mut detail = json!({ "agentId": agent });
    if let Some(walking) = &call.walking {
        detail["walk"] = json!(walking.handed_to(&wanted.to));
    }
    call.phase = Phase::Thinking;
    call.handovers.in_progress = Some(TakingOver { wanted, try_no });
    call.record("agent_transfer", &detail);
    call.fx.push(Effect::LookUpAgent {
        try_no,
        agent,
        after_ms,
    });
}

/// Hands over to the agent that was found. If it cannot be had, the present agent goes on.
pub fn agent_found(call: &mut State, try_no: u32, found: Result<Box<Rules>, AgentUnavailable>) {
    let Some(TakingOver { wanted, .. }) = call.handovers.in_progress.take_if(|taking| taking.try_no == try_no) else {
        return;
    };
    if matches!(
        call.phase,
        Phase::Closing { .. } | Phase::HangingUp { .. } | Phase::Ended
    ) {
        return;
    }
    match found {
        Ok(rules) => adopt_agent(call, TakingOver { wanted, try_no }, *rules),
        Err(why) => {
            let detail = json!({ "reason": why.to_string() });
            call.record("agent_transfer_failed", &detail);
            let told = json!({ "error": "the other agent cannot be reached: go on yourself" });
            told_model(call, &wanted, told);
            if is_waited_for(call) && wanted.run.is_none() {
                walking::go_on_walking(call);
            } else if is_waited_for(call) {
                reply::think(call);
            }
        }
    }
}

/// Returns whether the agent has to speak next: nothing was said since the hand-over began, or the user spoke last.
fn is_waited_for(call: &State) -> bool {
    match call.phase {
        Phase::Thinking => true,
        Phase::Listening => call.user.unanswered,
        _ => false,
    }
}

fn adopt_agent(call: &mut State, taking: TakingOver, rules: Rules) {
    let TakingOver { wanted, try_no } = taking;
    stop_agent_before(call);
    told_model(call, &wanted, json!({ "ok": true, "note": TAKEN_OVER }));
    call.take_rules(rules);
    walking::enter_graph(call, &wanted.to);
    call.tools.offer(Vec::new());
    call.reply.protected = false;
    call.fx.push(Effect::AdoptAgent { try_no });
    if disclosing::must_disclose(call) {
        disclosing::disclose_anew(call);
    }
    if !is_waited_for(call) {
        return;
    }
    if wanted.to.greets && call.rules.greeting.is_some() && !call.user.unanswered {
        opt_out::opt_out_not_answered(call);
        talk::greet(call);
    } else if disclosing::discloses_before_answer(call) {
        // The agent before does not say it.
    } else if !walking::walk_due(call) {
        reply::think(call);
    }
}

/// Stops the previous agent's reply. The part it has begun to say stands, and the other agent's words
/// follow; the rest is not synthesised.
fn stop_agent_before(call: &mut State) {
    speculation::drop_early(call, Waste::Overtaken);
    if !call.reply.open {
        return;
    }
    ending::stop_reply(call);
    if call.phase == Phase::Speaking {
        call.user.unanswered = true;
        match call.speech {
            Some(_) => speech::say_piece(call, String::new(), true),
            None => call.phase = Phase::Thinking,
        }
    }
}

/// Handles the model's request to switch the language. Returns the tool's result.
pub fn language_wanted(call: &mut State, arguments: &Value) -> Value {
    let named = arguments.get("language").and_then(Value::as_str).unwrap_or_default();
    let known = call
        .rules
        .languages
        .iter()
        .find(|code| code.eq_ignore_ascii_case(named));
    let Some(code) = known.cloned() else {
        let languages = &call.rules.languages;
        return json!({ "error": "give `language`, one of those that are configured", "configured": languages });
    };
    call.reply.protected |= call.rules.language_protected;
    if code == call.rules.language {
        return json!({ "ok": true, "note": "it is spoken already" });
    }
    call.rules.language.clone_from(&code);
    call.fx.push(Effect::SwitchLanguage(code.clone()));
    json!({ "ok": true, "note": format!("from now on you hear and speak `{code}`: go on in that language") })
}
