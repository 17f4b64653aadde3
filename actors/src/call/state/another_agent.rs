//! Handing the call to another agent, or switching the present agent's language. The caller, the leg and the
//! history stay the same.

use domain::{agent::Successor, workflow::HandOver};
use serde_json::{Value, json};

use super::{AgentUnavailable, Effect, Phase, Rules, State, speculation::Waste, tool_record::BUILT_IN_TOOL};

/// Maximum number of agent hand-overs in one call.
const MOST_HANDOVERS: u32 = 5;

/// Note to the model about a hand-over that was requested.
const UNTIL_THEN: &str = "begins once your words were heard";

/// Note to the agent that took the call over.
const TAKEN_OVER: &str = "the call was handed to you: what was said before was said by the agent before you. Go on from \
                          here, and do not ask again what they have told";

/// Hand-over that starts once the present speech was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HandoverWish {
    /// Run number of the model's tool, for its result. `None` if the graph hands the call over.
    pub(super) run: Option<u64>,
    pub(super) to: HandOver,
}

/// Hand-over in progress: the other agent is being looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TakingOver {
    wanted: HandoverWish,
    try_no: u32,
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

impl State {
    /// Handles the model's request to hand the call to another agent.
    pub(super) fn agent_wanted(&mut self, arguments: Value, echo: Option<Box<Value>>) {
        const NAME: &str = "transferToAgent";
        let to = meant(&self.rules, &arguments);
        let refusal = match &to {
            None => Some("give `agent_number`, one of those that are offered"),
            Some(_) if self.was_handed_over_too_often() => {
                Some("this call was handed over too often: go on with it yourself")
            }
            Some(_) if self.leaves() => Some("the call is being handed over or ended already"),
            Some(_) => None,
        };
        let (Some(to), None) = (to, refusal) else {
            self.tool_done((NAME, arguments, echo), json!({ "error": refusal }));
            return;
        };
        let run = self.tools.number();
        let until_then = json!({ "ok": true, "note": UNTIL_THEN });
        let kept = [("arguments", &arguments), ("result", &until_then)];
        self.record_tool(BUILT_IN_TOOL, json!({ "name": NAME }), &kept);
        self.history.tool_begun(run, (NAME, arguments), until_then, echo);
        self.reply.protected |= self.rules.agents_protected;
        self.reply.another = Some(HandoverWish {
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

    pub(super) fn was_handed_over_too_often(&self) -> bool {
        self.handovers >= MOST_HANDOVERS
    }

    /// Says the announcement before the hand-over, if one is configured.
    pub(super) fn announce_another(&mut self) {
        let wanted = self.reply.another.as_ref();
        if let Some(message) = wanted.and_then(|wanted| wanted.to.message.clone()) {
            self.speak_piece(message.into());
        }
    }

    /// Cancels the hand-over that was requested.
    pub(super) fn keep_agent(&mut self) {
        if let Some(wanted) = self.reply.another.take() {
            self.not_handed_over(&wanted);
        }
    }

    /// Cancels the hand-over that is in progress.
    pub(super) fn stop_taking_over(&mut self) {
        if let Some(TakingOver { wanted, .. }) = self.taking_over.take() {
            self.not_handed_over(&wanted);
        }
    }

    fn not_handed_over(&mut self, wanted: &HandoverWish) {
        self.told_model(
            wanted,
            json!({ "error": "not done: the conversation took another turn" }),
        );
    }

    /// Sets the result of the model's tool, if the model asked for the hand-over.
    fn told_model(&mut self, wanted: &HandoverWish, result: Value) {
        if let Some(run) = wanted.run {
            self.history.tool_settled(run, result);
        }
    }

    /// Looks up the other agent, now that the speech before the hand-over was heard.
    pub(super) fn hand_over(&mut self, wanted: HandoverWish) {
        self.handovers += 1;
        let try_no = self.handovers;
        let (agent, after_ms) = (wanted.to.agent, wanted.to.delay_ms);
        let mut detail = json!({ "agentId": agent });
        if let Some(walking) = &self.walking {
            detail["walk"] = json!(walking.walk.handed_to(&wanted.to));
        }
        self.phase = Phase::Thinking;
        self.taking_over = Some(TakingOver { wanted, try_no });
        self.record("agent_transfer", &detail);
        self.fx.push(Effect::LookUpAgent {
            try_no,
            agent,
            after_ms,
        });
    }

    /// Hands over to the agent that was found. If it cannot be had, the present agent goes on.
    pub(super) fn agent_found(&mut self, try_no: u32, found: Result<Box<Rules>, AgentUnavailable>) {
        let Some(TakingOver { wanted, .. }) = self.taking_over.take_if(|taking| taking.try_no == try_no) else {
            return;
        };
        if matches!(
            self.phase,
            Phase::Closing { .. } | Phase::HangingUp { .. } | Phase::Ended
        ) {
            return;
        }
        match found {
            Ok(rules) => self.adopt_agent(TakingOver { wanted, try_no }, *rules),
            Err(why) => {
                let detail = json!({ "reason": why.to_string() });
                self.record("agent_transfer_failed", &detail);
                let told = json!({ "error": "the other agent cannot be reached: go on yourself" });
                self.told_model(&wanted, told);
                if self.is_waited_for() && wanted.run.is_none() {
                    self.go_on_walking();
                } else if self.is_waited_for() {
                    self.think();
                }
            }
        }
    }

    /// Returns whether the agent has to speak next: nothing was said since the hand-over began, or the user spoke last.
    fn is_waited_for(&self) -> bool {
        match self.phase {
            Phase::Thinking => true,
            Phase::Listening => self.user.unanswered,
            _ => false,
        }
    }

    fn adopt_agent(&mut self, taking: TakingOver, rules: Rules) {
        let TakingOver { wanted, try_no } = taking;
        self.stop_agent_before();
        self.told_model(&wanted, json!({ "ok": true, "note": TAKEN_OVER }));
        self.take_rules(rules);
        self.enter_graph(&wanted.to);
        self.tools.offer(Vec::new());
        self.reply.protected = false;
        self.fx.push(Effect::AdoptAgent { try_no });
        if self.must_disclose() {
            self.disclose_anew();
        }
        if !self.is_waited_for() {
            return;
        }
        if wanted.to.greets && self.rules.greeting.is_some() && !self.user.unanswered {
            self.opt_out_not_answered();
            self.greet();
        } else if self.discloses_before_answer() {
            // The agent before does not say it.
        } else if !self.walk_due() {
            self.think();
        }
    }

    /// Stops the previous agent's reply. The part it has begun to say stands, and the other agent's words
    /// follow; the rest is not synthesised.
    fn stop_agent_before(&mut self) {
        self.drop_early(Waste::Overtaken);
        if !self.reply.open {
            return;
        }
        self.stop_reply();
        if self.phase == Phase::Speaking {
            self.user.unanswered = true;
            match self.speech {
                Some(_) => self.say_piece(String::new(), true),
                None => self.phase = Phase::Thinking,
            }
        }
    }

    /// Replaces the rules. The maximum duration stays as it was set at the start of the call.
    pub fn take_rules(&mut self, rules: Rules) {
        self.user.silence_left_ms = rules.silence_end_ms.unwrap_or(0);
        self.read_texts_again(rules);
    }

    /// Handles the model's request to switch the language. Returns the tool's result.
    pub(super) fn language_wanted(&mut self, arguments: &Value) -> Value {
        let named = arguments.get("language").and_then(Value::as_str).unwrap_or_default();
        let known = self
            .rules
            .languages
            .iter()
            .find(|code| code.eq_ignore_ascii_case(named));
        let Some(code) = known.cloned() else {
            let languages = &self.rules.languages;
            return json!({ "error": "give `language`, one of those that are configured", "configured": languages });
        };
        self.reply.protected |= self.rules.language_protected;
        if code == self.rules.language {
            return json!({ "ok": true, "note": "it is spoken already" });
        }
        self.rules.language.clone_from(&code);
        self.fx.push(Effect::SwitchLanguage(code.clone()));
        json!({ "ok": true, "note": format!("from now on you hear and speak `{code}`: go on in that language") })
    }
}
