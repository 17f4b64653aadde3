//! The line pool: it grants lines at the dialing rate, starts calls, and settles those that crash.

use std::{collections::HashMap, time::Duration};

use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::time::Instant;

use super::{
    CallRegistry, Dialer, Leave, LinePool, LinesMessage, LinesNotice, LinesSnapshot, Requester,
    announced::Announcements, taken_over::OnTheirWay,
};
use crate::{
    call::{CallContext, CallMessage, Event, NoOutcome},
    supervision::TaskGuard,
};
use domain::id::AttemptId;

/// Arguments with which the line pool starts.
pub struct LinesArguments {
    /// Data that all calls share.
    pub with: CallContext,
    /// Number of lines.
    pub lines: usize,
    /// Dials per second, 0 for no limit.
    pub calls_per_second: f64,
    /// Registry that outlives a crash of this actor. Calls found in it are settled.
    pub registry: CallRegistry,
    /// Number of nodes that share the dialing rate.
    pub nodes: usize,
}

/// The line pool.
pub struct LinesActor;

/// State of the actor.
pub struct LinesState {
    pub(super) with: CallContext,
    pub(super) registry: CallRegistry,
    pub(super) pool: LinePool<Dialer>,
    /// Receivers of each dialer's grants and call ends.
    pub(super) requesters: HashMap<Dialer, Requester>,
    /// Actors of the calls. A crashed call is in the pool and no longer here.
    pub(super) calls: HashMap<AttemptId, ActorRef<CallMessage>>,
    pub(super) by_actor: HashMap<ActorId, AttemptId>,
    /// Inbound calls by their legs.
    pub(super) announced: Announcements,
    /// Live calls of other processes that are being taken over.
    pub(super) on_their_way: OnTheirWay,
    /// Whether it is about to end, so that other nodes take over new calls.
    pub(super) takes_no_more: bool,
    /// Whether the live calls were told to hang up.
    pub(super) grace_is_over: bool,
    timer: Option<TaskGuard>,
    leaving: Option<TaskGuard>,
}

impl Actor for LinesActor {
    type Msg = LinesMessage;
    type State = LinesState;
    type Arguments = LinesArguments;

    async fn pre_start(
        &self,
        me: ActorRef<LinesMessage>,
        arguments: LinesArguments,
    ) -> Result<LinesState, ActorProcessingErr> {
        let mut pool = LinePool::new(arguments.lines, arguments.calls_per_second);
        pool.share_rate(arguments.nodes);
        for (attempt, dialer) in arguments.registry.all() {
            pool.adopt(attempt, dialer);
            let crash = Some("line pool crashed".to_owned());
            me.cast(LinesMessage::ChildGone { attempt, crash })?;
        }
        Ok(LinesState {
            with: arguments.with,
            registry: arguments.registry,
            pool,
            requesters: HashMap::new(),
            calls: HashMap::new(),
            by_actor: HashMap::new(),
            announced: Announcements::default(),
            on_their_way: OnTheirWay::new(),
            takes_no_more: false,
            grace_is_over: false,
            timer: None,
            leaving: None,
        })
    }

    async fn handle(
        &self,
        me: ActorRef<LinesMessage>,
        message: LinesMessage,
        state: &mut LinesState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            LinesMessage::RequestLines {
                dialer,
                want,
                requester,
            } => {
                state.requesters.insert(dialer, requester);
                state.pool.wish(dialer, want);
            }
            LinesMessage::ReturnLines { dialer, lines } => state.pool.give_back(dialer, lines),
            LinesMessage::StillWaiting(dialer) => state.tell_starving(dialer),
            LinesMessage::WithdrawWish(dialer) => state.pool.wish(dialer, 0),
            LinesMessage::Withdraw(dialer) => {
                state.pool.reclaim(dialer);
                state.requesters.remove(&dialer);
            }
            LinesMessage::Dial(plan) => state.dial(&me, *plan).await,
            LinesMessage::Inbound { call, wanted, reply } => state.announce(&me, (call, wanted), reply).await,
            LinesMessage::Received { call, attempt, taken } => state.received(&me, (call, attempt), taken).await,
            LinesMessage::TakeLine {
                call,
                attempt,
                waits_for_socket,
                reply,
            } => {
                let taken = state.take_line((&call, attempt), waits_for_socket);
                let _ = reply.send(taken);
            }
            LinesMessage::TooSlow { call, attempt } => state.too_slow(&call, attempt),
            LinesMessage::LetGo { call, attempt } => state.let_go(&call, attempt),
            LinesMessage::Call { attempt, report } => state.told(attempt, report),
            LinesMessage::CrashSettled { attempt, outcome } => {
                state.ended(attempt, outcome.ok_or(NoOutcome::ItsOwn));
            }
            LinesMessage::ToCall {
                carrier,
                attempt,
                message,
            } => {
                if matches!(message, CallMessage::Media { .. }) {
                    state.announced.has_socket(attempt);
                }
                state.forward((attempt, carrier), message);
            }
            LinesMessage::CameBack { asking, reply } => state.come_back(&me, asking, reply),
            LinesMessage::Returned { attempt, taken } => state.returned(&me, attempt, taken).await,
            LinesMessage::Attach { dialer, requester } => state.attach(dialer, requester),
            LinesMessage::HangUpCampaign(campaign) => state.hang_up(|dialer| dialer == Dialer::Campaign(campaign)),
            LinesMessage::EndCall { attempt, reply } => {
                let end = || CallMessage::Happened(Event::End);
                let told = state.calls.get(&attempt).map(|call| call.cast(end()));
                let _ = reply.send(matches!(told, Some(Ok(()))));
            }
            LinesMessage::Command {
                attempt,
                command,
                reply,
            } => state.command(attempt, command, reply),
            LinesMessage::Follow { attempt, message } => state.follow(attempt, message),
            LinesMessage::Operate { attempt, by, reply } => state.operate(attempt, by, reply),
            LinesMessage::InspectCall { attempt, reply } => state.inspect_call(attempt, reply),
            LinesMessage::Holds { attempt, reply } => {
                let _ = reply.send(state.pool.dialer_of(attempt).is_some());
            }
            LinesMessage::ChildGone { attempt, crash } => state.child_gone(&me, attempt, crash),
            LinesMessage::Tick => state.timer = None,
            LinesMessage::Nodes(nodes) => state.pool.share_rate(nodes),
            LinesMessage::DoubtClaims { attempt } => state.doubt_claims(&me, attempt),
            LinesMessage::ClaimsLost(lost) => state.forget(&lost),
            LinesMessage::Load(level) => state.pool.set_level(level),
            LinesMessage::Drain(leave) => state.drain(&me, leave),
            LinesMessage::NoticeOver => state.pool.close(),
            LinesMessage::TakeNoMore(reply) => {
                state.take_no_more();
                let left = state.pool.live() + state.pool.granted() + state.on_their_way.len();
                let _ = reply.send(left);
            }
            LinesMessage::GraceOver => {
                state.take_no_more();
                state.grace_is_over = true;
                state.hang_up(|_| true);
            }
            LinesMessage::Inspect(reply) => {
                let _ = reply.send(state.snapshot());
            }
            #[cfg(feature = "testkit")]
            LinesMessage::Sabotage { attempt, stream } => {
                let call = state.calls.get(&attempt);
                let _ = call.map(|call| call.cast(CallMessage::Sabotage { stream }));
            }
        }
        state.grant(&me);
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<LinesMessage>,
        event: SupervisionEvent,
        state: &mut LinesState,
    ) -> Result<(), ActorProcessingErr> {
        let (actor, crash) = match event {
            SupervisionEvent::ActorTerminated(actor, _, _) => (actor, None),
            SupervisionEvent::ActorFailed(actor, error) => (actor, Some(error.to_string())),
            _ => return Ok(()),
        };
        // The event overtakes the child's last messages, so it is handled after them.
        if let Some(attempt) = state.by_actor.remove(&actor.get_id()) {
            me.cast(LinesMessage::ChildGone { attempt, crash })?;
        }
        Ok(())
    }
}

impl LinesState {
    /// Answers a waiting dialer that no line is free.
    fn tell_starving(&self, dialer: Dialer) {
        let requester = self.requesters.get(&dialer).filter(|_| self.pool.starves(dialer));
        if let Some(requester) = requester {
            let lines = self.pool.lines();
            requester.send(LinesNotice::NoLineFree { lines });
        }
    }

    /// Grants the lines that may be granted now, and wakes up when the rate allows more.
    fn grant(&mut self, me: &ActorRef<LinesMessage>) {
        if self.with.gate.holds_back().is_some() {
            // The heartbeat that opens the gate triggers another grant.
            return;
        }
        loop {
            let grants = self.pool.grant(Instant::now());
            let mut refused = false;
            for (dialer, lines) in grants {
                let told = self
                    .requesters
                    .get(&dialer)
                    .is_some_and(|r| r.send(LinesNotice::Granted(lines)));
                if !told {
                    self.pool.reclaim(dialer);
                    refused = true;
                }
            }
            if !refused {
                break;
            }
        }
        if let (None, Some(at)) = (&self.timer, self.pool.next_slot()) {
            let me = me.clone();
            self.timer = Some(TaskGuard::spawn(async move {
                tokio::time::sleep_until(at).await;
                let _ = me.cast(LinesMessage::Tick);
            }));
        }
    }

    fn attach(&mut self, dialer: Dialer, requester: Requester) {
        self.pool.reclaim(dialer);
        requester.send(LinesNotice::Attached(self.pool.calls_of(dialer)));
        self.requesters.insert(dialer, requester);
    }

    fn drain(&mut self, me: &ActorRef<LinesMessage>, leave: Leave) {
        self.pool.drain();
        if leave.notice_ms == 0 {
            self.pool.close();
        }
        let me = me.clone();
        self.leaving = Some(TaskGuard::spawn(async move {
            let tell = async |after_ms, message| {
                tokio::time::sleep(Duration::from_millis(after_ms)).await;
                let _ = me.cast(message);
            };
            tokio::join!(
                tell(leave.notice_ms, LinesMessage::NoticeOver),
                tell(leave.grace_ms, LinesMessage::GraceOver),
            );
        }));
    }

    fn take_no_more(&mut self) {
        self.takes_no_more = true;
        self.pool.close();
    }

    fn snapshot(&self) -> LinesSnapshot {
        LinesSnapshot {
            lines: self.pool.lines(),
            granted: self.pool.granted(),
            calls: self.pool.calls(),
            holds_back: self.with.gate.holds_back(),
        }
    }
}
