//! The dialing loop of a campaign: count due contacts, ask for lines, claim attempts, hand them to calls.

use std::{sync::Arc, time::Duration};

use ractor::ActorRef;
use tokio::time::Instant;

use super::{CampaignMessage, CampaignState, Event, Intent, actor::Order, provider_health::obstacle};
use crate::{
    attempt::{PlanContext, line, plan},
    call::NoOutcome,
    lines::{Dialer, HeldClaims, LinesMessage, Requester},
    supervision::contained,
};
use domain::{
    agent,
    id::{AttemptId, CampaignId, NodeId},
    ports::store::{AgentRow, CampaignRow, Remaining, Store, StoreError, StoreResult, agent_for_calls},
};

/// Interval at which a campaign looks for new work while calls run, and for the end of calls on other nodes.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Attempts that are looked at before their claim, so that those nobody dials take no line.
const WINDOW: usize = 100;

impl CampaignState {
    /// Counts the remaining work.
    pub(super) fn look(&mut self, me: &ActorRef<CampaignMessage>) {
        if self.counting {
            self.count_again = true;
            return;
        }
        self.counting = true;
        let (me, store, node) = (me.clone(), Arc::clone(&self.ports.store), self.node);
        let (row, generation) = (self.row.clone(), self.generation);
        tokio::spawn(async move {
            let remaining = contained(async move { remaining(&*store, node, &row).await }).await;
            let _ = me.cast(CampaignMessage::Counted { generation, remaining });
        });
    }

    pub(super) fn counted(
        &mut self,
        me: &ActorRef<CampaignMessage>,
        generation: u64,
        remaining: Result<Remaining, StoreError>,
    ) {
        self.counting = false;
        let again = std::mem::take(&mut self.count_again);
        if !self.dials() {
            return;
        }
        if generation != self.generation || again {
            self.look(me);
            return;
        }
        match remaining {
            Ok(remaining) => {
                self.trouble.reset();
                self.pacing.counted(&remaining);
                self.act_on(me, &remaining);
            }
            Err(error) => self.wake_after_trouble(me, &error),
        }
    }

    fn act_on(&mut self, me: &ActorRef<CampaignMessage>, remaining: &Remaining) {
        self.use_kept(me);
        if self.delays_for_all(me, remaining) {
            return;
        }
        if remaining.due > 0 || self.pacing.claiming() {
            self.request_lines(me);
            // Lines of other nodes may be busy with it.
            if remaining.open == 0 && self.pacing.starves(Instant::now()) {
                let dialer = Dialer::Campaign(self.row.id);
                let _ = self.lines.cast(LinesMessage::StillWaiting(dialer));
            }
        } else if self.still_out(me, remaining) {
            // Delayed until somebody is due.
        } else if remaining.open > 0 || !self.live.is_empty() {
            // The ends of our own calls are reported. The ends of other nodes' calls, and retries that become
            // due, must be polled.
            self.wake(me, LOOK_AGAIN);
        } else if remaining.later > 0 {
            // Wait at least a second. The store's clock may be behind ours, and an attempt due by our clock
            // would otherwise be counted as due later again and again.
            let soonest = self.ports.clock.now().plus(LOOK_AGAIN);
            let next_run_at = remaining.next_due.map(|due| due.max(soonest));
            self.order(
                me,
                Order::Own(Intent {
                    next_run_at,
                    ..Event::OnlyLater.into()
                }),
            );
        } else {
            self.order(me, Order::Own(Event::NothingLeft.into()));
        }
    }

    /// Asks for as many lines as can be used now.
    fn request_lines(&mut self, me: &ActorRef<CampaignMessage>) {
        if !self.dials() {
            return;
        }
        let now = Instant::now();
        let want = self.pacing.want(self.live.len(), now);
        self.wish(me, want);
        if let Some(until) = self.pacing.asks(want, self.live.len(), now) {
            self.wake(me, until.saturating_duration_since(now).max(LOOK_AGAIN));
        }
        if let Some(until) = self.pacing.held_until(now) {
            self.wake(me, until.duration_since(now));
        }
    }

    pub(super) fn wish(&mut self, me: &ActorRef<CampaignMessage>, want: usize) {
        let wish = LinesMessage::RequestLines {
            dialer: Dialer::Campaign(self.row.id),
            want,
            requester: Requester::to(me, CampaignMessage::Lines),
        };
        if self.lines.cast(wish).is_err() {
            self.wake(me, LOOK_AGAIN);
        }
    }

    pub(super) fn return_lines(&self, lines: usize) {
        if lines > 0 {
            let dialer = Dialer::Campaign(self.row.id);
            let _ = self.lines.cast(LinesMessage::ReturnLines { dialer, lines });
        }
    }

    /// Stops dialing: withdraws the request for lines, and returns claims that are still on their way.
    pub(super) fn stop_dialing(&mut self) {
        self.generation += 1;
        let unused = self.pacing.drop_grants() + std::mem::take(&mut self.kept);
        self.return_lines(unused);
        let _ = self
            .lines
            .cast(LinesMessage::WithdrawWish(Dialer::Campaign(self.row.id)));
    }

    pub(super) fn lines_granted(&mut self, me: &ActorRef<CampaignMessage>, lines: usize) {
        if self.starved && !self.is_committing() && !self.draining {
            self.line_came(me, lines);
            return;
        }
        if !self.dials() {
            self.return_lines(lines);
            return;
        }
        let unused = self.pacing.granted(lines, self.live.len(), Instant::now());
        self.return_lines(unused);
        self.claim(me);
    }

    /// Reads the agent afresh and claims attempts for the granted lines, if calls of the agent can be held
    /// now. Not bound to this actor: a claim must find its way back to the queue even if the actor is gone.
    fn claim(&mut self, me: &ActorRef<CampaignMessage>) {
        let Some(lines) = self.pacing.begin_claim() else {
            return;
        };
        let (me, store, node) = (me.clone(), Arc::clone(&self.ports.store), self.node);
        let ports = self.ports.clone();
        let (row, generation) = (self.row.clone(), self.generation);
        let window = if self.looked_at < lines { lines.max(WINDOW) } else { 0 };
        self.looked_at = self.looked_at.max(window) - lines;
        tokio::spawn(async move {
            let agents = Arc::clone(&store);
            let agent = contained(async move { agent_for_calls(&*agents, row.account, row.agent).await }).await;
            let obstacle = match &agent {
                Ok(row) => obstacle(ports, row).await,
                Err(_) => Ok(None),
            };
            if let Ok(Some(reason)) = obstacle {
                let _ = me.cast(CampaignMessage::ProvidersDown {
                    generation,
                    lines,
                    reason,
                });
                return;
            }
            let attempts = match (&agent, obstacle) {
                (_, Err(error)) => Err(error),
                (Ok(agent), _) => {
                    let restricted = restricted_prefixes(agent);
                    contained(async move {
                        if window > 0 {
                            store.pass_over(node, row.id, as_limit(window), &restricted).await?;
                        }
                        claim(store, node, row.id, lines).await
                    })
                    .await
                }
                (Err(_), _) => Ok(HeldClaims::new(Vec::new(), store)),
            };
            let _ = me.cast(CampaignMessage::AgentRead { generation, agent });
            let _ = me.cast(CampaignMessage::Claimed {
                generation,
                lines,
                attempts,
            });
        });
    }

    pub(super) fn agent_read(
        &mut self,
        me: &ActorRef<CampaignMessage>,
        generation: u64,
        agent: Result<AgentRow, StoreError>,
    ) {
        if generation != self.generation {
            return;
        }
        self.agent = None;
        let reason = match agent {
            Ok(row) => match agent::complete(&row.document) {
                Ok(agent) => match line(&agent, &self.ports.carriers) {
                    Ok(_) => {
                        self.agent = Some((Arc::new(agent), row.version));
                        return;
                    }
                    Err(none) => none.to_string(),
                },
                Err(error) => format!("agent {} cannot be read: {error}", row.id),
            },
            Err(StoreError::NotFound) => format!("agent {} does not exist any more", self.row.agent),
            Err(StoreError::Damaged(error)) => format!("agent {} cannot be read: {error}", self.row.agent),
            Err(error) => {
                self.wake_after_trouble(me, &error);
                return;
            }
        };
        let reason = Some(reason);
        self.order(
            me,
            Order::Own(Intent {
                reason,
                ..Event::CannotGoOn.into()
            }),
        );
    }

    pub(super) fn claimed(
        &mut self,
        me: &ActorRef<CampaignMessage>,
        generation: u64,
        lines: usize,
        attempts: Result<HeldClaims, StoreError>,
    ) {
        let current = generation == self.generation && self.dials();
        match attempts {
            Ok(held) if current && self.agent.is_some() => {
                let claimed = held.len();
                self.pacing.end_claim(claimed);
                let dialed = self.dial(held);
                self.return_lines(lines.saturating_sub(dialed));
                if claimed > 0 {
                    self.set_back_no_more(true);
                } else {
                    // Attempts were counted as due but could not be claimed: another node has them, or the
                    // campaign does not run.
                    self.read_row(me);
                    self.wake(me, LOOK_AGAIN);
                    return;
                }
            }
            other => {
                self.pacing.end_claim(0);
                self.return_lines(lines);
                if let (true, Err(error)) = (current, &other) {
                    self.wake_after_trouble(me, error);
                } else if !current && self.dials() {
                    self.look(me);
                }
                // Claims of an older generation are released when they are dropped.
                return;
            }
        }
        self.claim(me);
        if self.pacing.due() {
            self.request_lines(me);
        } else {
            self.look(me);
        }
    }

    /// Hands claimed attempts over to calls. Returns how many were taken.
    fn dial(&mut self, mut held: HeldClaims) -> usize {
        let Some((agent, version)) = &self.agent else { return 0 };
        // An agent without a line was refused when it was read.
        let Ok(line) = line(agent, &self.ports.carriers) else {
            return 0;
        };
        let context = PlanContext {
            agent: Arc::clone(agent),
            agent_version: Some(*version),
            ring_timeout: self
                .row
                .options
                .ring_timeout_seconds
                .map_or(self.ring_timeout, |seconds| Duration::from_secs(seconds.into())),
            now: self.ports.clock.now(),
        };
        let mut dialed = 0;
        while let Some(attempt) = held.take() {
            let call = plan(attempt.clone(), line, &context);
            if self.lines.cast(LinesMessage::Dial(Box::new(call))).is_err() {
                held.put_back(attempt);
                break;
            }
            self.live.insert(attempt.claim.attempt);
            dialed += 1;
        }
        dialed
    }

    pub(super) fn call_ended(
        &mut self,
        me: &ActorRef<CampaignMessage>,
        attempt: AttemptId,
        outcome: Result<(), NoOutcome>,
    ) {
        if !self.live.remove(&attempt) {
            return;
        }
        self.told_of_the_carrier(attempt, outcome.is_ok());
        if !self.dials() {
            return;
        }
        self.pacing.call_ended(outcome, Instant::now());
        if self.pacing.due() {
            self.request_lines(me);
        } else if self.live.is_empty() {
            self.look(me);
        } else {
            self.wake(me, LOOK_AGAIN);
        }
    }
}

/// Counts the remaining work, once the next attempts are some that may be dialed.
async fn remaining(store: &dyn Store, node: NodeId, row: &CampaignRow) -> StoreResult<Remaining> {
    let remaining = store.remaining(row.id).await?;
    if remaining.due == 0 {
        return Ok(remaining);
    }
    let Ok(agent) = agent_for_calls(store, row.account, row.agent).await else {
        // The claim finds out what is wrong with it.
        return Ok(remaining);
    };
    let restricted = restricted_prefixes(&agent);
    let mut passed_over = 0;
    loop {
        match store.pass_over(node, row.id, as_limit(WINDOW), &restricted).await? {
            0 if passed_over == 0 => return Ok(remaining),
            0 => return store.remaining(row.id).await,
            more => passed_over += more,
        }
    }
}

fn restricted_prefixes(agent: &AgentRow) -> Vec<String> {
    let agent = agent::complete(&agent.document).unwrap_or_default();
    agent.platform_settings.telephony.restricted_prefixes().to_vec()
}

async fn claim(store: Arc<dyn Store>, node: NodeId, campaign: CampaignId, lines: usize) -> StoreResult<HeldClaims> {
    let attempts = store.claim(node, campaign, as_limit(lines)).await?;
    Ok(HeldClaims::new(attempts, store))
}

fn as_limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
