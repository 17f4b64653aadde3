//! Performs a call's effects: starts tasks, sets timers, writes to the store, and informs the line pool and
//! the journal.

mod another_agent;
mod call_back;
mod carrier_side;
mod coming_back;
mod finishing;
mod following;
mod live;
mod operator;
mod outside_tools;
mod phrases;
mod placeholders;
mod planned;
mod recording;
mod replying;
mod streams;
mod workflow;

use std::sync::Arc;

use ractor::ActorRef;
use tokio::{
    sync::oneshot,
    task::{AbortHandle, JoinHandle, JoinSet},
    time::Instant,
};

pub(crate) use another_agent::bound;
pub(super) use outside_tools::Offers;

use self::{
    another_agent::Found,
    call_back::planned_before,
    coming_back::{answered_at, known_before, spoken_last},
    following::Followers,
    operator::Operators,
    outside_tools::OutsideTools,
    planned::{planned_rules, rules},
    workflow::{Graphs, with_usable_graph},
};
use super::{
    CallArguments, CallContext, CallMessage, CallReport, LegRefusal,
    knowledge::CallKnowledge,
    outcome::{NoOutcome, Obstacle},
    state::{Effect, Event, PermitAnswer, State},
    timers::Timers,
    writer::{self, Write, Writer, Writes},
};
use crate::{attempt::CallPlan, audio_stream::StreamMessage, supervision::Reports};
use domain::{
    agent::Agent,
    dial_token::{DialToken, Purpose},
    knowledge::Excerpt,
    phone_number::{PhoneNumber, with_numbers_masked},
    ports::{
        carrier::{CallProgress, CarrierCallId, DialError, LegReport},
        media_leg::MediaLeg,
        store::{CallTimes, Fact, Outcome, Tokens},
        usage::Meter,
    },
    retry::CallBackWish,
    time::Timestamp,
};

/// A running call.
pub(super) struct EffectHandler {
    me: ActorRef<CallMessage>,
    plan: CallPlan,
    with: CallContext,
    /// The line pool.
    lines: Reports<CallReport>,
    meter: Meter,
    /// Tokens that were told with the turns so far.
    told_tokens: Tokens,
    /// The state machine. `None` only while an event is applied.
    machine: Option<State>,
    started: Instant,
    /// Time of the permit request, by the monotonic and the wall clock.
    permit_asked: (Instant, Timestamp),
    dialing_at: Timestamp,
    token: Option<DialToken>,
    /// Our number on the line: the caller ID from the permit, or the number that was called.
    caller_id: Option<PhoneNumber>,
    /// The media leg that was accepted last.
    offered: Option<MediaLeg>,
    stream: Option<ActorRef<StreamMessage>>,
    /// Number of audio streams that the call has had.
    streams: u32,
    /// Whether the media socket takes keys to press.
    stream_presses: bool,
    operators: Operators,
    /// Ends when the keys were pressed that the carrier was asked for last.
    pressed: Option<oneshot::Receiver<()>>,
    probe: Option<ActorRef<StreamMessage>>,
    timers: Timers,
    /// Aborted when this is dropped, even by a panic.
    tasks: JoinSet<()>,
    /// Task that asks the carrier for lost media.
    reopening: Option<AbortHandle>,
    /// Task that checks who owns the call while its media is lost.
    watching: Option<AbortHandle>,
    /// Hang-up tasks. They are not aborted, since a leg must go down even if its call crashes.
    hang_ups: Vec<JoinHandle<()>>,
    writes: Writes,
    /// The callee's last call-back wish; written with the outcome.
    call_back: Option<CallBackWish>,
    opted_out: bool,
    tools: OutsideTools,
    /// The agent the call began with. Its rules also bind the agents that take the call over.
    began_with: Arc<Agent>,
    /// Another agent that was looked up.
    found: Option<Found>,
    knowledge: CallKnowledge,
    /// In a test call, the passages of the reply whose turn is not recorded yet.
    passages: Vec<Excerpt>,
    graphs: Graphs,
    followers: Followers,
    reply_generation: u64,
    reply_task: Option<AbortHandle>,
    /// Result that is reported to the line pool at the end.
    outcome: Result<Outcome, NoOutcome>,
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
        let (agent, graph, graph_not_used) = with_usable_graph(plan.agent.clone(), &plan.variables);
        let plan = CallPlan { agent, ..plan };
        let (inbound, inherited) = (plan.inbound.clone(), plan.inherited.clone());
        let rules = planned_rules(&plan, &with, graph);
        let (machine, effects) = match (&inbound, &inherited) {
            (Some(leg), _) => State::inbound(rules, leg.call.clone()),
            (None, Some(inherited)) => State::taken_over(rules, inherited.leg.clone(), &inherited.call),
            (None, None) => State::new(rules),
        };
        let (token, caller_id) = known_before(&inbound, inherited.as_deref());
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
        let mut handler = Self {
            machine: Some(machine),
            started: inherited.as_ref().and_then(|of| answered_at(now, of)).unwrap_or(now),
            permit_asked: (now, with.ports.clock.now()),
            dialing_at: with.ports.clock.now(),
            token,
            caller_id,
            offered: None,
            stream: None,
            streams: 0,
            stream_presses: false,
            operators: Operators::default(),
            pressed: None,
            probe,
            timers: Timers::default(),
            tasks,
            reopening: None,
            watching: None,
            hang_ups: Vec::new(),
            writes,
            call_back: inherited.as_deref().and_then(planned_before),
            opted_out: false,
            tools: OutsideTools::default(),
            began_with,
            found: None,
            knowledge,
            passages: Vec::new(),
            graphs: Graphs::default(),
            followers: Followers::none(with.ports.clock.now()),
            reply_generation: 0,
            reply_task: None,
            outcome: Err(NoOutcome::ItsOwn),
            me,
            plan,
            with,
            lines,
            meter,
            told_tokens: Tokens::default(),
        };
        handler.ask_for_tools();
        handler.have_phrases_made();
        if let Some(code) = inherited.as_deref().and_then(spoken_last) {
            handler.speak(&code);
        }
        handler.resume_node();
        handler.graph_not_used(&graph_not_used);
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
                let taken = self.progress(&proof, report).await;
                // The requester may have given up waiting.
                let _ = reply.send(taken);
            }
            asked @ (CallMessage::AskMedia { .. } | CallMessage::Media { .. }) => match self.may_have_gone() {
                true => self.check_owner(asked),
                false => self.asked_for_media(asked).await,
            },
            CallMessage::OwnerKnown { owner, asked } => self.owner_known(owner, *asked).await,
            CallMessage::CameBack { proof, leg, reply } => {
                let goes_on = self.came_back(&proof, leg).await;
                let _ = reply.send(goes_on);
            }
            CallMessage::Stream { number, .. } if number != self.streams && self.probe.is_none() => {}
            CallMessage::Stream { event, .. } => self.apply(Event::Stream(event)).await,
            CallMessage::StreamGone { stream, .. } if stream.is_some_and(|gone| !self.is_present(gone)) => {}
            CallMessage::StreamGone { crash, .. } => {
                self.stream = None;
                if let Some(crash) = &crash {
                    tracing::error!(attempt = %self.plan.attempt.claim.attempt, crash, "audio stream crashed");
                }
                let crashed = crash.is_some();
                self.apply(Event::StreamGone { crashed }).await;
            }
            CallMessage::Permitted(answer) => {
                let answer = self.permitted(answer);
                if answer == PermitAnswer::Late {
                    self.outcome = Err(NoOutcome::TooLate);
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
                    self.outcome = Err(NoOutcome::NotTaken);
                    self.tell_lines(CallReport::MetObstacle(obstacle));
                }
                if matches!(result, Err(DialError::HeldBack(_))) {
                    self.tell_lines(CallReport::NotDialed);
                    self.outcome = Err(NoOutcome::TooLate);
                }
                self.apply(Event::Dialed(result)).await;
            }
            CallMessage::TransferAsked { try_no, answer } => {
                let answer = self.transfer_answer(answer);
                self.apply(Event::TransferAsked { try_no, answer }).await;
            }
            CallMessage::Reply { generation, event } => {
                if generation == self.reply_generation {
                    self.apply(Event::Reply(event)).await;
                }
            }
            CallMessage::KnowledgeGiven { generation, passages } => self.knowledge_given(generation, passages),
            CallMessage::ToolsOffered { generation, offers } => {
                if let Some(names) = self.offered(generation, &offers) {
                    self.apply(Event::ToolsOffered(names)).await;
                }
            }
            CallMessage::ArgumentsChosen { number, offers, chosen } => {
                self.graphs.offers = offers;
                self.apply(Event::ArgumentsChosen { number, chosen }).await;
            }
            CallMessage::AgentFound { try_no, found } => {
                let event = self.agent_found(try_no, found);
                self.apply(event).await;
            }
            CallMessage::PhrasesMade => self.read_texts_again(),
            CallMessage::Timer { generation, timer } => {
                if self.timers.fired(timer, generation) {
                    self.apply(Event::Timer(timer)).await;
                }
            }
            CallMessage::Finished(result) => self.finished(result),
            CallMessage::Command { command, reply } => {
                let answer = self.command(command).await;
                let _ = reply.send(answer);
            }
            CallMessage::Follow { listener, reply } => drop(reply.send(Some(self.follow(listener)))),
            CallMessage::Present(reply) => drop(reply.send(self.present())),
            CallMessage::ListenerLeft { by } => self.listener_left(&by),
            CallMessage::Operate { by, reply } => {
                let answer = self.operate(by).await;
                // The line of a requester who gave up is dropped, and the agent goes on.
                let _ = reply.send(answer);
            }
            CallMessage::OperatorLeft { number, left } => self.operator_left(number, left).await,
            CallMessage::Inspect(reply) => {
                if let Some(snapshot) = self.snapshot() {
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
            self.tell_stream(StreamMessage::Sabotage);
        } else {
            panic!("sabotaged");
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    async fn apply(&mut self, event: Event) {
        let now_ms = self.now_ms();
        self.tell_duration(now_ms);
        let Some(machine) = self.machine.take() else { return };
        let (machine, effects) = machine.apply(event, now_ms);
        if !machine.lacks_media() {
            // The request must not be repeated: it would reopen media that is open, or call back a caller who
            // was handed on.
            if let Some(reopening) = self.reopening.take() {
                reopening.abort();
            }
        }
        self.note_live_state(&machine);
        self.machine = Some(machine);
        self.watch_claim();
        self.perform(effects).await;
    }

    async fn progress(&mut self, proof: &str, report: LegReport) -> Result<(), LegRefusal> {
        self.check(Purpose::Status, proof)?;
        let over = matches!(report.progress, CallProgress::Ended(_));
        self.adopt(report.call, over).await?;
        self.apply(Event::Progress(report.progress)).await;
        Ok(())
    }

    /// Adopts the leg id that a report with the permit's proof brings. The report is as good a source as the
    /// dial's answer, which may be lost. A second leg of the same permit is hung up, unless it is `over`.
    async fn adopt(&mut self, leg: Option<CarrierCallId>, over: bool) -> Result<(), LegRefusal> {
        let Some(leg) = leg else { return Ok(()) };
        match self.machine.as_ref().and_then(State::leg) {
            Some(ours) if *ours == leg => {}
            Some(_) => {
                if !over {
                    self.hang_up_another(leg);
                }
                return Err(LegRefusal::AnotherLeg);
            }
            None => self.apply(Event::Dialed(Ok(leg))).await,
        }
        Ok(())
    }

    async fn media(&mut self, proof: &str, leg: MediaLeg) -> Result<(), LegRefusal> {
        self.may_take_media(proof, true)?;
        self.adopt(leg.call.clone(), false).await?;
        // A leg that was awaited only to be hung up takes no media.
        self.may_take_media(proof, true)?;
        self.offered = Some(leg);
        self.apply(Event::MediaOpened).await;
        Ok(())
    }

    /// Returns an error if a media socket would not be taken now. With `replacing`, a socket that replaces an
    /// open one is accepted too.
    fn may_take_media(&self, proof: &str, replacing: bool) -> Result<(), LegRefusal> {
        self.check(Purpose::Media, proof)?;
        let machine = self.machine.as_ref();
        let takes = machine.is_some_and(|machine| machine.lacks_media() || (replacing && machine.replaces_media()));
        takes.then_some(()).ok_or(LegRefusal::NotNow)
    }

    fn check(&self, purpose: Purpose, proof: &str) -> Result<(), LegRefusal> {
        match &self.token {
            Some(token) if token.verify(purpose, proof) => Ok(()),
            _ => Err(LegRefusal::BadProof),
        }
    }

    async fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::AskPermit => self.ask_permit(),
                Effect::Dial => self.dial(),
                Effect::WriteDialed(id) => self.leg_known(id),
                Effect::WriteOptOut => self.opt_out(),
                Effect::PlanCallBack(time) => self.plan_call_back(time),
                Effect::KeepCollected => self.keep_collected(),
                Effect::WriteAnswered => self.answered(),
                Effect::WriteUnknown => self.outcome_unknown(),
                Effect::OpenStream => self.open_stream().await,
                Effect::Say(say) => self.say(say),
                Effect::Release(speech) => self.release(speech),
                Effect::StopSpeaking => self.tell_stream(StreamMessage::StopSpeaking),
                Effect::AllowBargeIn(allow) => self.tell_stream(StreamMessage::AllowBargeIn(allow)),
                Effect::Press(keys) => self.press(keys),
                Effect::Transfer { try_no, kind, to } => self.transfer(try_no, kind, to),
                Effect::SeatOperator => self.seat_operator(),
                Effect::UnseatOperator => self.tell_stream(StreamMessage::OperatorLeaves),
                Effect::ReopenMedia { try_no } => self.reopen_media(try_no),
                Effect::CloseStream => self.tell_stream(StreamMessage::Close),
                Effect::StartReply => self.start_reply(None),
                Effect::StartReplyIn(node) => self.start_reply(Some(&node)),
                Effect::CancelReply => self.cancel_reply(),
                Effect::RunTool { run, name, arguments } => self.run_tool(run, &name, arguments),
                Effect::LookUpAgent {
                    try_no,
                    agent,
                    after_ms,
                } => self.look_up_agent(try_no, agent, after_ms),
                Effect::AdoptNode(node) => self.adopt_node(node),
                Effect::SetVariables(values) => self.set_variables(values),
                Effect::AskRouter {
                    number,
                    candidates,
                    questions,
                } => self.ask_router(number, candidates, questions),
                Effect::ChooseArguments { number, tools } => self.choose_arguments(number, tools),
                Effect::CancelRouter => self.cancel_router(),
                Effect::AdoptAgent { try_no } => self.adopt_agent(try_no),
                Effect::SwitchLanguage(code) => self.switch_language(&code),
                Effect::SetTimer(timer, after_ms) => self.timers.set(timer, after_ms, &self.me),
                Effect::CancelTimer(timer) => self.timers.cancel(timer),
                Effect::Record(Fact::Turn(turn)) => self.record_turn(turn),
                Effect::Record(fact) => self.record(fact),
                Effect::HangUpLeg(leg) => self.hang_up(leg),
                Effect::Finish(ending) => self.finish(ending),
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

    fn write(&self, write: Write) {
        self.writes.push(write);
    }
}
