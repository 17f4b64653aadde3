//! The campaign actor: commands and events become guarded changes of its row, one under way at a time.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::time::Instant;

use super::{
    CampaignCommand, CampaignMessage, CampaignSnapshot, CommandError, Event, Intent, Pacing, Resting, Wish,
    carrier_outage::CarrierOutage, commit, other_nodes::SetBack, unavailable,
};
use crate::{
    lines::{Dialer, LinesMessage, LinesNotice, Requester},
    supervision::{Backoff, Reports, Sibling, TaskGuard, contained},
};
use domain::{
    agent::Agent,
    id::{AttemptId, NodeId},
    ports::{
        Ports,
        store::{CampaignRow, CampaignStatus},
    },
};

/// What a campaign is started with.
pub struct CampaignArguments {
    /// Its row as it was read.
    pub row: CampaignRow,
    /// This process.
    pub node: NodeId,
    /// The outside.
    pub ports: Ports,
    /// Who has the lines.
    pub lines: Sibling<LinesMessage>,
    /// Its supervisor.
    pub campaigns: Reports<Resting>,
    /// How long a call may ring.
    pub ring_timeout: Duration,
    /// Other nodes work on it too.
    pub other_nodes: bool,
}

/// Where a command's answer goes.
pub type CommandReply = RpcReplyPort<Result<CampaignRow, CommandError>>;

/// What waits for the commit under way.
pub(super) enum Order {
    /// A user's command.
    Command(CampaignCommand, CommandReply),
    /// An event of its own.
    Own(Intent),
}

/// One campaign.
pub struct CampaignActor;

/// Its state.
pub struct CampaignState {
    pub(super) node: NodeId,
    pub(super) ports: Ports,
    pub(super) lines: Sibling<LinesMessage>,
    campaigns: Reports<Resting>,
    pub(super) ring_timeout: Duration,
    pub(super) row: CampaignRow,
    /// Changes when dialing begins or ends: results of an older one are not used.
    pub(super) generation: u64,
    /// The line pool has said which calls live.
    pub(super) attached: bool,
    pub(super) live: HashSet<AttemptId>,
    pub(super) agent: Option<Arc<Agent>>,
    pub(super) pacing: Pacing,
    pub(super) counting: bool,
    pub(super) count_again: bool,
    pub(super) trouble: Backoff,
    pub(super) draining: bool,
    /// The carrier took no call when it was asked last.
    pub(super) outage: Option<CarrierOutage>,
    /// It is delayed because no line is free.
    pub(super) starved: bool,
    /// Lines granted to it then, kept until it runs again.
    pub(super) kept: usize,
    /// It is delayed because providers are down.
    pub(super) providers_down: bool,
    /// It asks whether they are back.
    pub(super) asking: bool,
    /// Other nodes work on it too.
    pub(super) other_nodes: bool,
    /// What keeps this node alone from dialing.
    pub(super) set_back: Option<SetBack>,
    /// It is delayed, and not by this node.
    pub(super) anothers_delay: bool,
    orders: VecDeque<Order>,
    committing: Option<Order>,
    commands: u64,
    timer: Option<(Instant, TaskGuard)>,
}

impl Actor for CampaignActor {
    type Msg = CampaignMessage;
    type State = CampaignState;
    type Arguments = CampaignArguments;

    async fn pre_start(
        &self,
        me: ActorRef<CampaignMessage>,
        arguments: CampaignArguments,
    ) -> Result<CampaignState, ActorProcessingErr> {
        let mut state = CampaignState {
            pacing: Pacing::new(&arguments.row),
            node: arguments.node,
            ports: arguments.ports,
            lines: arguments.lines,
            campaigns: arguments.campaigns,
            ring_timeout: arguments.ring_timeout,
            row: arguments.row,
            generation: 0,
            attached: false,
            live: HashSet::new(),
            agent: None,
            counting: false,
            count_again: false,
            trouble: Backoff::new(Duration::from_millis(200), Duration::from_secs(3)),
            draining: false,
            outage: None,
            starved: false,
            kept: 0,
            providers_down: false,
            asking: false,
            other_nodes: arguments.other_nodes,
            set_back: None,
            anothers_delay: false,
            orders: VecDeque::new(),
            committing: None,
            commands: 0,
            timer: None,
        };
        state.attach(&me);
        Ok(state)
    }

    async fn handle(
        &self,
        me: ActorRef<CampaignMessage>,
        message: CampaignMessage,
        state: &mut CampaignState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            CampaignMessage::Command { command, reply } => {
                state.commands += 1;
                state.order(&me, Order::Command(command, reply));
            }
            CampaignMessage::Lines(notice) => state.told(&me, notice),
            CampaignMessage::LinesRestarted => {
                state.stop_dialing();
                state.attach(&me);
            }
            CampaignMessage::Tick => {
                state.timer = None;
                state.go_on(&me);
            }
            CampaignMessage::Drain => {
                state.draining = true;
                state.stop_dialing();
            }
            CampaignMessage::AgentRead { generation, agent } => state.agent_read(&me, generation, agent),
            CampaignMessage::Claimed {
                generation,
                lines,
                attempts,
            } => state.claimed(&me, generation, lines, attempts),
            CampaignMessage::ProvidersDown {
                generation,
                lines,
                reason,
            } => state.providers_down(&me, generation, lines, reason),
            CampaignMessage::ProvidersAsked { well } => state.providers_asked(&me, well),
            CampaignMessage::StateChanged { latest, changed } => state.changed(&me, latest, changed),
            CampaignMessage::OtherNodes(others) => state.others_live(others),
            CampaignMessage::Seen(version) => state.seen(&me, version),
            CampaignMessage::RowRead(row) => state.row_read(&me, row),
            CampaignMessage::Counted { generation, remaining } => state.counted(&me, generation, remaining),
            CampaignMessage::Inspect(reply) => {
                let _ = reply.send(CampaignSnapshot {
                    status: state.row.status,
                    live_calls: state.live.len(),
                });
            }
            #[cfg(feature = "testkit")]
            #[expect(clippy::panic, reason = "supervision is tested with a real panic")]
            CampaignMessage::Sabotage => panic!("sabotaged"),
        }
        state.rest();
        Ok(())
    }
}

impl CampaignState {
    fn told(&mut self, me: &ActorRef<CampaignMessage>, notice: LinesNotice) {
        match notice {
            LinesNotice::Granted(lines) => self.lines_granted(me, lines),
            LinesNotice::NoLineFree { lines } => self.no_line_free(me, lines),
            LinesNotice::CallEnded { attempt, outcome } => self.call_ended(me, attempt, outcome.map(drop)),
            LinesNotice::MetObstacle(obstacle) => self.met_obstacle(me, obstacle),
            LinesNotice::Attached(live) => {
                self.attached = true;
                self.live = live.into_iter().collect();
                self.go_on(me);
            }
        }
    }

    /// Asks the line pool for the calls that live; until it answers nothing is dialed.
    fn attach(&mut self, me: &ActorRef<CampaignMessage>) {
        self.attached = false;
        let dialer = Dialer::Campaign(self.row.id);
        let requester = Requester::to(me, CampaignMessage::Lines);
        if self.lines.cast(LinesMessage::Attach { dialer, requester }).is_err() {
            // The pool is being restarted and will say so; the timer is for the case that this was missed.
            self.wake(me, Duration::from_secs(1));
        }
    }

    /// Its window is over.
    fn closed(&self) -> bool {
        let now = self.ports.clock.now();
        self.row.closes_at.is_some_and(|closes_at| closes_at <= now)
    }

    /// Lines may be used: the row says running, and nothing is under way that may end that.
    pub(super) fn dials(&self) -> bool {
        self.row.status == CampaignStatus::Running
            && !self.closed()
            && self.attached
            && !self.draining
            && self.committing.is_none()
    }

    /// A change of the row is being written.
    pub(super) fn is_committing(&self) -> bool {
        self.committing.is_some()
    }

    /// Does what the row says is to be done now.
    pub(super) fn go_on(&mut self, me: &ActorRef<CampaignMessage>) {
        if self.draining {
            return;
        }
        if !self.attached {
            self.attach(me);
            return;
        }
        match self.row.status {
            CampaignStatus::Running | CampaignStatus::Delayed if self.closed() => {
                self.order(me, Order::Own(Event::WindowClosed.into()));
            }
            CampaignStatus::Running => {
                if let Some(closes_at) = self.row.closes_at {
                    self.wake(me, closes_at.since(self.ports.clock.now()));
                }
                self.look(me);
            }
            CampaignStatus::Waiting => self.wait_for_its_time(me, Event::TimeCame),
            CampaignStatus::Paused if self.row.active => self.wait_for_its_time(me, Event::WindowOpened),
            CampaignStatus::Delayed if self.starved => self.wait_for_a_line(me),
            CampaignStatus::Delayed if self.providers_down => self.ask_for_providers(me),
            CampaignStatus::Delayed if self.other_nodes && self.row.next_run_at.is_none() => {
                self.end_anothers_delay(me);
            }
            CampaignStatus::Delayed => self.wait_for_the_carrier(me),
            CampaignStatus::Draft
            | CampaignStatus::Paused
            | CampaignStatus::Stopped
            | CampaignStatus::Completed
            | CampaignStatus::Failed => {}
        }
    }

    fn wait_for_its_time(&mut self, me: &ActorRef<CampaignMessage>, event: Event) {
        let now = self.ports.clock.now();
        let at = self.row.next_run_at.unwrap_or(now);
        if at <= now {
            self.order(me, Order::Own(event.into()));
        } else {
            self.wake(me, at.since(now));
        }
    }

    /// Looks again after `wait` at the latest.
    pub(super) fn wake(&mut self, me: &ActorRef<CampaignMessage>, wait: Duration) {
        // A far time is slept in pieces, so that a wall clock that was put forward is noticed.
        let at = Instant::now() + wait.min(Duration::from_secs(60));
        if self.timer.as_ref().is_some_and(|(set, _)| *set <= at) {
            return;
        }
        let me = me.clone();
        let task = TaskGuard::spawn(async move {
            tokio::time::sleep_until(at).await;
            let _ = me.cast(CampaignMessage::Tick);
        });
        self.timer = Some((at, task));
    }

    /// The store is in trouble: looks again later, each time a little later.
    pub(super) fn wake_after_trouble(&mut self, me: &ActorRef<CampaignMessage>, error: &dyn std::fmt::Display) {
        let wait = self.trouble.failed();
        tracing::warn!(campaign = %self.row.id, %error, "store is in trouble, trying again");
        self.wake(me, wait);
    }

    /// Puts a change in line behind the one under way.
    pub(super) fn order(&mut self, me: &ActorRef<CampaignMessage>, order: Order) {
        self.orders.push_back(order);
        self.next_order(me);
    }

    fn next_order(&mut self, me: &ActorRef<CampaignMessage>) {
        if self.committing.is_some() {
            return;
        }
        let Some(order) = self.orders.pop_front() else { return };
        let wish = match &order {
            Order::Command(command, _) => Wish::Command(command.clone()),
            Order::Own(intent) => Wish::Own(intent.clone()),
        };
        // Whatever it is, no dial starts while it is being written.
        self.stop_dialing();
        self.committing = Some(order);
        let (me, ports, row) = (me.clone(), self.ports.clone(), self.row.clone());
        // Not bound to this actor: a commit half made is worse than one nobody hears of.
        tokio::spawn(async move {
            let before = row.clone();
            let committed = contained(async move { Ok(commit(ports, row, wish).await) }).await;
            let (latest, changed) = committed.unwrap_or_else(|panic| (before, Err(unavailable(&panic))));
            let _ = me.cast(CampaignMessage::StateChanged { latest, changed });
        });
    }

    fn changed(&mut self, me: &ActorRef<CampaignMessage>, latest: CampaignRow, changed: Result<(), CommandError>) {
        self.take(latest);
        let mut later = false;
        match (self.committing.take(), changed) {
            (Some(Order::Command(command, reply)), changed) => {
                if changed.is_ok() && command == (CampaignCommand::Stop { hang_up: true }) {
                    let _ = self.lines.cast(LinesMessage::HangUpCampaign(self.row.id));
                }
                let _ = reply.send(changed.map(|()| self.row.clone()));
            }
            (Some(Order::Own(_)), Err(error @ CommandError::Unavailable(_))) => {
                self.wake_after_trouble(me, &error);
                later = true;
            }
            // The row was changed by somebody else meanwhile; what it says now is done below.
            (Some(Order::Own(_)) | None, _) => self.trouble.reset(),
        }
        self.next_order(me);
        if self.committing.is_none() && !later {
            self.go_on(me);
        }
    }

    /// The row as it is from now on.
    fn take(&mut self, latest: CampaignRow) {
        if self.row.status != latest.status {
            // What kept this node alone from dialing is found again.
            self.set_back = None;
            // A carrier that is tried again and again is tried less and less often.
            if ![self.row.status, latest.status].contains(&CampaignStatus::Delayed) {
                self.pacing.restart();
                self.outage = None;
            }
            tracing::info!(campaign = %latest.id, status = latest.status.as_str(), reason = latest.reason, "campaign changed");
        }
        let delayed = latest.status == CampaignStatus::Delayed;
        if let Some(outage) = &mut self.outage {
            outage.delayed |= delayed;
        }
        self.starved &= delayed;
        self.providers_down &= delayed;
        self.anothers_delay &= delayed;
        self.row = latest;
        self.pacing.limit(&self.row);
        self.keep_lines_to_run_only();
    }

    /// The row as the store has it now: another node may have changed it.
    fn row_read(&mut self, me: &ActorRef<CampaignMessage>, row: CampaignRow) {
        if !self.is_committing() && row.version > self.row.version {
            self.stop_dialing();
            self.take(row);
            self.go_on(me);
        }
    }

    /// Tells the supervisor when there is nothing left to do here.
    fn rest(&self) {
        let at_rest = !self.row.active
            && self.attached
            && self.live.is_empty()
            && self.orders.is_empty()
            && self.committing.is_none()
            && !self.pacing.claiming();
        if at_rest {
            self.campaigns.send(Resting {
                campaign: self.row.id,
                commands: self.commands,
            });
        }
    }
}
