//! Performs a call's effects: starts tasks, sets timers, writes to the store, and informs the line pool and
//! the journal. Each part's fields are private to it and to the modules below.

mod audio;
mod carrier;
mod model;
mod record;
mod tasks;
mod timers;
mod writer;

use ractor::ActorRef;
use tokio::{
    task::{AbortHandle, JoinSet},
    time::Instant,
};

pub(crate) use model::another_agent::bound;

use self::{
    audio::{AudioSide, following, streams},
    carrier::{CarrierSide, coming_back, leg},
    model::{ModelSide, another_agent, outside_tools, placeholders, planned, replying, workflow},
    record::RecordSide,
    timers::Timers,
    writer::Writer,
};
use super::{
    CallArguments, CallCommand, CallContext, CallMessage, CallReport, CallSnapshot, CommandAnswer, CommandKind,
    knowledge::CallKnowledge,
    outcome::{NoOutcome, Obstacle},
    state::{Effect, Event, PermitAnswer, State},
};
use crate::{attempt::CallPlan, audio_stream::StreamMessage, supervision::Reports};
use domain::{
    phone_number::with_numbers_masked,
    ports::{
        carrier::{DialError, TransferKind},
        store::{CallTimes, Fact},
        usage::Meter,
    },
};

/// A running call.
pub(super) struct EffectHandler {
    me: ActorRef<CallMessage>,
    plan: CallPlan,
    with: CallContext,
    /// The line pool.
    lines: Reports<CallReport>,
    meter: Meter,
    /// The state machine. `None` only while an event is applied.
    machine: Option<State>,
    started: Instant,
    timers: Timers,
    /// Aborted when this is dropped, even by a panic.
    tasks: JoinSet<()>,
    carrier: CarrierSide,
    audio: AudioSide,
    model: ModelSide,
    record: RecordSide,
}

impl EffectHandler {
    /// Starts the call. `probe` replaces the audio stream.
    pub(super) async fn start(
        arguments: CallArguments,
        me: ActorRef<CallMessage>,
        probe: Option<ActorRef<StreamMessage>>,
    ) -> Self {
        let CallArguments {
            plan,
            with,
            lines,
            meter,
        } = arguments;
        let (agent, graph, graph_not_used) = workflow::with_usable_graph(plan.agent.clone(), &plan.variables);
        let plan = CallPlan { agent, ..plan };
        let (inbound, inherited) = (plan.inbound.clone(), plan.inherited.clone());
        let rules = planned::planned_rules(&plan, &with, graph);
        let (machine, effects) = match (&inbound, &inherited) {
            (Some(leg), _) => State::inbound(rules, leg.call.clone()),
            (None, Some(inherited)) => State::taken_over(rules, inherited.leg.clone(), &inherited.call),
            (None, None) => State::new(rules),
        };
        let (token, caller_id) = coming_back::known_before(&inbound, inherited.as_deref());
        let began_with = inherited.as_ref().and_then(|inherited| inherited.began_with.clone());
        let began_with = began_with.unwrap_or_else(|| plan.agent.clone());
        let (writes, to_write) = writer::writes();
        let writer = Writer {
            ports: with.ports.clone(),
            carrier: plan.carrier.name(),
            ended: plan.ended(),
            times: CallTimes::default(),
            journal: with.journal.clone(),
            me: me.clone(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(writer.run(to_write));
        let (knowledge, opening) = CallKnowledge::of(with.ports.knowledge.clone(), plan.attempt.account, &plan.agent);
        if let Some(opening) = opening {
            tasks.spawn(opening);
        }
        let now = Instant::now();
        let wall = with.ports.clock.now();
        let promised = inherited.as_deref().and_then(record::planned_before);
        let mut handler = Self {
            machine: Some(machine),
            started: inherited
                .as_ref()
                .and_then(|of| coming_back::answered_at(now, of))
                .unwrap_or(now),
            timers: Timers::default(),
            tasks,
            carrier: CarrierSide::new(token, caller_id, wall),
            audio: AudioSide::new(probe, wall),
            model: ModelSide::new(began_with, knowledge),
            record: RecordSide::new(writes, promised),
            me,
            plan,
            with,
            lines,
            meter,
        };
        outside_tools::ask_for_tools(&mut handler);
        placeholders::have_phrases_made(&mut handler);
        if let Some(code) = inherited.as_deref().and_then(coming_back::spoken_last) {
            another_agent::speak(&mut handler, &code);
        }
        workflow::resume_node(&mut handler);
        workflow::graph_not_used(&handler, &graph_not_used);
        handler.perform(effects).await;
        if handler.plan.is_text {
            // No carrier opens a socket.
            let _ = handler.me.cast(CallMessage::Happened(Event::MediaOpened));
        }
        handler
    }

    /// Handles one message.
    pub(super) async fn handle(&mut self, message: CallMessage) {
        match message {
            CallMessage::Happened(event) => self.apply(event).await,
            CallMessage::Progress { proof, report, reply } => {
                let taken = leg::progress(self, &proof, report).await;
                // The requester may have given up waiting.
                let _ = reply.send(taken);
            }
            asked @ (CallMessage::AskMedia { .. } | CallMessage::Media { .. }) => {
                match coming_back::may_have_gone(self) {
                    true => coming_back::check_owner(self, asked),
                    false => coming_back::asked_for_media(self, asked).await,
                }
            }
            CallMessage::OwnerKnown { owner, asked } => coming_back::owner_known(self, owner, *asked).await,
            CallMessage::CameBack { proof, leg, reply } => {
                let goes_on = coming_back::carrier_asks(self, &proof, leg).await;
                let _ = reply.send(goes_on);
            }
            CallMessage::Stream { number, .. } if !self.audio.is_stream(number) => {}
            CallMessage::Stream { event, .. } => self.apply(Event::Stream(event)).await,
            CallMessage::StreamGone { stream, .. } if stream.is_some_and(|gone| !streams::is_present(self, gone)) => {}
            CallMessage::StreamGone { crash, .. } => {
                self.audio.lose_stream();
                if let Some(crash) = &crash {
                    tracing::error!(attempt = %self.plan.attempt.claim.attempt, crash, "audio stream crashed");
                }
                let crashed = crash.is_some();
                self.apply(Event::StreamGone { crashed }).await;
            }
            CallMessage::Permitted(answer) => {
                let answer = leg::permitted(self, answer);
                if answer == PermitAnswer::Late {
                    self.record.ends_without(NoOutcome::TooLate);
                }
                if answer != PermitAnswer::Granted {
                    self.tell_lines(CallReport::NotDialed);
                }
                self.apply(Event::Permitted(answer)).await;
            }
            CallMessage::Dialed(result) => {
                if let Err(error) = &result {
                    let attempt = &self.plan.attempt;
                    let error = with_numbers_masked(&error.to_string());
                    tracing::warn!(attempt = %attempt.claim.attempt, error, "call not dialed");
                }
                if let Some(obstacle) = result.as_ref().err().and_then(Obstacle::of) {
                    self.record.ends_without(NoOutcome::NotTaken);
                    self.tell_lines(CallReport::MetObstacle(obstacle));
                }
                if matches!(result, Err(DialError::HeldBack(_))) {
                    self.tell_lines(CallReport::NotDialed);
                    self.record.ends_without(NoOutcome::TooLate);
                }
                self.apply(Event::Dialed(result)).await;
            }
            CallMessage::TransferAsked { try_no, answer } => {
                let answer = leg::transfer_answer(self, answer);
                self.apply(Event::TransferAsked { try_no, answer }).await;
            }
            CallMessage::Reply { generation, event } => {
                if self.model.awaits(generation) {
                    self.apply(Event::Reply(event)).await;
                }
            }
            CallMessage::KnowledgeGiven { generation, passages } => {
                replying::knowledge_given(self, generation, passages);
            }
            CallMessage::ToolsOffered { generation, offers } => {
                if let Some(names) = outside_tools::offered(self, generation, &offers) {
                    self.apply(Event::ToolsOffered(names)).await;
                }
            }
            CallMessage::ArgumentsChosen { number, offers, chosen } => {
                self.model.set_node_offers(offers);
                self.apply(Event::ArgumentsChosen { number, chosen }).await;
            }
            CallMessage::AgentFound { try_no, found } => {
                let event = another_agent::agent_found(self, try_no, found);
                self.apply(event).await;
            }
            CallMessage::PhrasesMade => placeholders::read_texts_again(self),
            CallMessage::Timer { generation, timer } => {
                if self.timers.fired(timer, generation) {
                    self.apply(Event::Timer(timer)).await;
                }
            }
            CallMessage::Finished(result) => record::finished(self, result),
            CallMessage::Command { command, reply } => {
                let answer = carry_out(self, command).await;
                let _ = reply.send(answer);
            }
            CallMessage::Follow { listener, reply } => drop(reply.send(Some(following::follow(self, listener)))),
            CallMessage::Present(reply) => drop(reply.send(following::present(self))),
            CallMessage::ListenerLeft { by } => following::listener_left(self, &by),
            CallMessage::Operate { by, reply } => {
                let answer = audio::operate(self, by).await;
                // The line of a requester who gave up is dropped, and the agent goes on.
                let _ = reply.send(answer);
            }
            CallMessage::OperatorLeft { number, left } => audio::operator_left(self, number, left).await,
            CallMessage::Inspect(reply) => {
                if let Some(snapshot) = snapshot(self) {
                    let _ = reply.send(snapshot);
                }
            }
            #[cfg(feature = "testkit")]
            CallMessage::Sabotage { stream } => self.sabotage(stream),
        }
    }

    #[cfg(feature = "testkit")]
    #[expect(clippy::panic, reason = "tests of supervision ask for it")]
    fn sabotage(&self, stream: bool) {
        if stream {
            streams::tell_stream(self, StreamMessage::Sabotage);
        } else {
            panic!("sabotaged");
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    async fn apply(&mut self, event: Event) {
        let now_ms = self.now_ms();
        placeholders::tell_duration(self, now_ms);
        let Some(machine) = self.machine.take() else { return };
        let (machine, effects) = machine.apply(event, now_ms);
        if !machine.lacks_media() {
            // The request must not be repeated: it would reopen media that is open, or call back a caller who
            // was handed on.
            self.carrier.stop_reopening();
        }
        following::note_live_state(self, &machine);
        self.machine = Some(machine);
        coming_back::watch_claim(self);
        self.perform(effects).await;
    }

    async fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::AskPermit => leg::ask_permit(self),
                Effect::Dial => leg::dial(self),
                Effect::WriteDialed(id) => leg::leg_known(self, id),
                Effect::WriteOptOut => record::opt_out(self),
                Effect::PlanCallBack(time) => record::plan_call_back(self, time),
                Effect::KeepCollected => coming_back::keep_collected(self),
                Effect::WriteAnswered => leg::answered(self),
                Effect::WriteUnknown => leg::outcome_unknown(self),
                Effect::OpenStream => streams::open_stream(self).await,
                Effect::Say(say) => following::say(self, say),
                Effect::Release(speech) => following::release(self, speech),
                Effect::StopSpeaking => streams::tell_stream(self, StreamMessage::StopSpeaking),
                Effect::AllowBargeIn(allow) => streams::tell_stream(self, StreamMessage::AllowBargeIn(allow)),
                Effect::Press(keys) => leg::press(self, keys),
                Effect::Transfer { try_no, kind, to } => leg::transfer(self, try_no, kind, to),
                Effect::SeatOperator => audio::seat_operator(self),
                Effect::UnseatOperator => streams::tell_stream(self, StreamMessage::OperatorLeaves),
                Effect::ReopenMedia { try_no } => leg::reopen_media(self, try_no),
                Effect::CloseStream => streams::tell_stream(self, StreamMessage::Close),
                Effect::StartReply => replying::start_reply(self, None),
                Effect::StartReplyIn(node) => replying::start_reply(self, Some(&node)),
                Effect::CancelReply => replying::cancel_reply(self),
                Effect::RunTool { run, name, arguments } => outside_tools::run_tool(self, run, &name, arguments),
                Effect::LookUpAgent {
                    try_no,
                    agent,
                    after_ms,
                } => another_agent::look_up_agent(self, try_no, agent, after_ms),
                Effect::AdoptNode(node) => workflow::adopt_node(self, node),
                Effect::SetVariables(values) => workflow::set_variables(self, values),
                Effect::AskRouter {
                    number,
                    candidates,
                    questions,
                } => workflow::ask_router(self, number, candidates, questions),
                Effect::ChooseArguments { number, tools } => workflow::choose_arguments(self, number, tools),
                Effect::CancelRouter => workflow::cancel_router(self),
                Effect::AdoptAgent { try_no } => another_agent::adopt_agent(self, try_no),
                Effect::SwitchLanguage(code) => coming_back::switch_language(self, &code),
                Effect::SetTimer(timer, after_ms) => self.timers.set(timer, after_ms, &self.me),
                Effect::CancelTimer(timer) => self.timers.cancel(timer),
                Effect::Record(Fact::Turn(turn)) => record::record_turn(self, turn),
                Effect::Record(fact) => record::record(self, fact),
                Effect::HangUpLeg(leg) => leg::hang_up(self, leg),
                Effect::Finish(ending) => record::finish(self, ending),
            }
        }
    }

    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(task)
    }

    fn tell_lines(&self, report: CallReport) {
        if !self.lines.send(report) {
            tracing::debug!(attempt = %self.plan.attempt.claim.attempt, "line pool gone, call report dropped");
        }
    }
}

/// Carries out a client's command, or refuses it.
async fn carry_out(call: &mut EffectHandler, command: Box<CallCommand>) -> CommandAnswer {
    match refusal(call, &command.kind) {
        Some(why) => CommandAnswer::Refused(why),
        None => {
            call.apply(Event::Commanded(command)).await;
            CommandAnswer::Done
        }
    }
}

/// Returns the state of the call at this moment.
fn snapshot(call: &EffectHandler) -> Option<CallSnapshot> {
    let machine = call.machine.as_ref()?;
    Some(CallSnapshot {
        phase: machine.phase(),
        turns: machine.history().turns(),
        operator: machine.operator().map(str::to_owned),
        is_text: call.plan.is_text,
    })
}

fn refusal(call: &EffectHandler, wanted: &CommandKind) -> Option<String> {
    let carrier = &call.plan.carrier;
    let cannot = |what: &str| Some(format!("the carrier `{}` cannot {what}", carrier.name()));
    if let Some(why) = call.machine.as_ref()?.refusal(wanted) {
        return Some(why);
    }
    match wanted.transfer_kind() {
        Some(_) if !carrier.transfers() => cannot("transfer calls"),
        None if matches!(wanted, CommandKind::Text { .. }) && !call.plan.is_text => {
            Some("the call is not a test call with `mode` `text`".to_owned())
        }
        Some(TransferKind::SipRefer) if !carrier.abilities().refer => {
            cannot("transfer calls with `transferType` `sip_refer`")
        }
        _ => None,
    }
}
