//! The campaign actor: it turns commands and events into guarded changes of its row, one at a time.

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

/// Arguments with which a campaign starts.
pub struct CampaignArguments {
    /// The campaign's row as it was read.
    pub row: CampaignRow,
    /// Id of this process.
    pub node: NodeId,
    /// The ports to the outside.
    pub ports: Ports,
    /// The line pool.
    pub lines: Sibling<LinesMessage>,
    /// The supervisor of campaigns.
    pub campaigns: Reports<Resting>,
    /// Longest ringing time of a call.
    pub ring_timeout: Duration,
    /// Whether other nodes work on the campaign too.
    pub other_nodes: bool,
}

/// Receiver of a command's answer.
pub type CommandReply = RpcReplyPort<Result<CampaignRow, CommandError>>;

/// A change that waits for the commit in progress.
pub(super) enum Order {
    /// A user's command.
    Command(CampaignCommand, CommandReply),
    /// An event of the campaign itself.
    Own(Intent),
}

/// One campaign.
pub struct CampaignActor;

/// State of the actor.
pub struct CampaignState {
    pub(super) node: NodeId,
    pub(super) ports: Ports,
    pub(super) lines: Sibling<LinesMessage>,
    campaigns: Reports<Resting>,
    pub(super) ring_timeout: Duration,
    pub(super) row: CampaignRow,
    /// Changes when dialing begins or ends. Results of an older generation are not used.
    pub(super) generation: u64,
    /// Whether the line pool has reported the live calls.
    pub(super) attached: bool,
    pub(super) live: HashSet<AttemptId>,
    /// The agent with its version.
    pub(super) agent: Option<(Arc<Agent>, i64)>,
    pub(super) pacing: Pacing,
    /// Attempts of the next claims that were looked at and not passed over.
    pub(super) looked_at: usize,
    pub(super) counting: bool,
    pub(super) count_again: bool,
    pub(super) trouble: Backoff,
    pub(super) draining: bool,
    /// The carrier's obstacle, if the carrier took no call when last asked.
    pub(super) outage: Option<CarrierOutage>,
    /// Whether the campaign is delayed because no line is free.
    pub(super) starved: bool,
    /// Lines granted during that delay, kept until the campaign runs again.
    pub(super) kept: usize,
    /// Whether the campaign is delayed because its providers are down.
    pub(super) providers_down: bool,
    /// Whether it is asking if they are back.
    pub(super) asking: bool,
    /// Whether other nodes work on the campaign too.
    pub(super) other_nodes: bool,
    /// Obstacle that keeps only this node from dialing.
    pub(super) set_back: Option<SetBack>,
    /// Whether the campaign was delayed by another node.
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
            looked_at: 0,
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

    /// Asks the line pool for the live calls. Nothing is dialed before the answer.
    fn attach(&mut self, me: &ActorRef<CampaignMessage>) {
        self.attached = false;
        let dialer = Dialer::Campaign(self.row.id);
        let requester = Requester::to(me, CampaignMessage::Lines);
        if self.lines.cast(LinesMessage::Attach { dialer, requester }).is_err() {
            // The pool is being restarted and will announce itself. The timer covers a missed announcement.
            self.wake(me, Duration::from_secs(1));
        }
    }

    /// Returns whether the campaign's window is over.
    fn closed(&self) -> bool {
        let now = self.ports.clock.now();
        self.row.closes_at.is_some_and(|closes_at| closes_at <= now)
    }

    /// Returns whether lines may be used: the row is running, and no change that may end this is in progress.
    pub(super) fn dials(&self) -> bool {
        self.row.status == CampaignStatus::Running
            && !self.closed()
            && self.attached
            && !self.draining
            && self.committing.is_none()
    }

    /// Returns whether a change of the row is being written.
    pub(super) fn is_committing(&self) -> bool {
        self.committing.is_some()
    }

    /// Takes the next step according to the row.
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

    /// Schedules the next look after `wait` at the latest.
    pub(super) fn wake(&mut self, me: &ActorRef<CampaignMessage>, wait: Duration) {
        // A long wait is split into pieces, so that a wall clock that was set forward is noticed.
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

    /// Schedules a retry after a store failure, with a longer wait each time.
    pub(super) fn wake_after_trouble(&mut self, me: &ActorRef<CampaignMessage>, error: &dyn std::fmt::Display) {
        let wait = self.trouble.failed();
        tracing::warn!(campaign = %self.row.id, %error, "store request failed, trying again");
        self.wake(me, wait);
    }

    /// Queues a change after the one in progress.
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
        // Dialing stops while any change is being written.
        self.stop_dialing();
        self.committing = Some(order);
        let (me, ports, row) = (me.clone(), self.ports.clone(), self.row.clone());
        // Not bound to this actor: a commit whose result nobody gets is better than one that stops halfway.
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
            // Another writer has changed the row; its new content is handled below.
            (Some(Order::Own(_)) | None, _) => self.trouble.reset(),
        }
        self.next_order(me);
        if self.committing.is_none() && !later {
            self.go_on(me);
        }
    }

    /// Replaces the row.
    fn take(&mut self, latest: CampaignRow) {
        if self.row.status != latest.status {
            // Obstacles that concern only this node are detected anew.
            self.set_back = None;
            // The pauses for a carrier that keeps failing must go on growing.
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

    /// Handles the row as read from the store, which another node may have changed.
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
