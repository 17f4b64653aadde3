//! Live calls with a broken media socket, about which their carrier asks here. A call that lives here answers
//! itself. A call of a process that is dead or unreachable is taken over by this node, guarded by owner and
//! epoch, so that exactly one node has it and later writes of its old owner are refused.

use std::{collections::HashMap, sync::Arc, time::Duration};

use ractor::{ActorRef, RpcReplyPort, rpc::CallResult};
use serde_json::Value;
use tokio::time::timeout;

use super::{CallRegistry, Dialer, LinesMessage, LinesState, LostCall, registry::SeenTo, settle::settle};
use crate::{
    attempt::{CallPlan, Ended, MEDIA_LOST, PlanContext, plan_inherited},
    call::{CallMessage, GoesOn, Owner, bound, owner_of},
    supervision::contained,
};
use domain::{
    agent::{self, Agent},
    dial_token::{DialToken, Purpose},
    id::{AccountId, AgentId, AttemptId, NodeId},
    node_times::Times,
    ports::{
        Ports,
        carrier::{Carrier, CarrierCallId, WayBack},
        store::{CallDirection, Claim, ReturnedCall, ReturningCall, StoreError, agent_for_calls, last_handed_over},
        usage::Meter,
    },
};

/// Time limit for the store: a carrier waits some seconds for its answer.
const TAKEN_WITHIN: Duration = Duration::from_secs(4);

/// Maximum number of takeovers in progress. The answer to further requests makes the carrier ask again.
const MOST_AT_ONCE: usize = 1_024;

/// Number of requests for one call that may wait for the same answer.
const MOST_WAITING: usize = 8;

/// Number of tries to read an agent while the store is unavailable.
const AGENT_TRIES: usize = 3;
/// Pause between these tries.
const AGENT_PAUSE: Duration = Duration::from_millis(300);

/// Number of calls that a full or draining node takes over beyond its lines, as a share of its lines and at
/// least. Live calls are the last thing to be given up.
const MOST_ABOVE: (usize, usize) = (4, 8);

/// Reason why a call does not go on when its carrier asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotGoingOn {
    /// The call is over, belongs to another attempt, or the proof is invalid. The leg must be hung up.
    #[error("the call is over")]
    Over,
    /// Another node has taken it over, according to its row. That node must be asked.
    #[error("another node has taken the call over")]
    Elsewhere,
    /// This cannot be decided now. The carrier must ask again.
    #[error("not known now whether the call goes on; ask again")]
    NotKnown,
}

/// Receiver of the answer to a carrier that asks how a call goes on.
pub type ReturnReply = RpcReplyPort<Result<GoesOn, NotGoingOn>>;

/// Data that a carrier shows when it asks how a call goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    /// The carrier whose webhook received it.
    pub carrier: &'static str,
    /// The attempt in the address.
    pub attempt: AttemptId,
    /// The proof in the address (`Purpose::Media`).
    pub proof: String,
    /// The carrier's id of the leg.
    pub leg: CarrierCallId,
}

/// Calls on their way here, with the requests that wait for them.
pub(super) type OnTheirWay = HashMap<AttemptId, Vec<ReturnReply>>;

/// A call that this node owns according to its row and that has not begun here. If it is dropped before that,
/// it is settled, since nobody else would do so.
pub struct HeldReturn {
    /// `None` once it has begun.
    lost: Option<Box<LostCall>>,
    plan: Option<Box<CallPlan>>,
    /// Prevents others from settling it before it begins.
    seen_to: Option<SeenTo>,
    ports: Ports,
    times: Times,
}

impl HeldReturn {
    /// Takes the call. The second value must be kept until the call has begun.
    fn take(mut self) -> Option<(Box<CallPlan>, Option<SeenTo>)> {
        let plan = self.plan.take()?;
        self.lost = None;
        Some((plan, self.seen_to.take()))
    }
}

impl Drop for HeldReturn {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and another one settles the call.
        if let (Some(lost), Ok(runtime)) = (self.lost.take(), tokio::runtime::Handle::try_current()) {
            let (ports, times, seen_to) = (self.ports.clone(), self.times, self.seen_to.take());
            runtime.spawn(async move {
                settle(&ports, *lost, times).await;
                drop(seen_to);
            });
        }
    }
}

impl LinesState {
    /// Asks a call that lives here how it goes on, or checks whether the call may become this node's.
    pub(super) fn come_back(&mut self, me: &ActorRef<LinesMessage>, asking: Asking, reply: ReturnReply) {
        let attempt = asking.attempt;
        if let Some(call) = self.calls.get(&attempt) {
            if !self.registry.is_placed_at(attempt, asking.carrier) {
                let _ = reply.send(Err(NotGoingOn::Over));
                return;
            }
            let Some(held) = self.registry.get(attempt) else {
                let _ = reply.send(Err(NotGoingOn::NotKnown));
                return;
            };
            let (me, store, claim) = (me.clone(), Arc::clone(&self.with.ports.store), held.ended.claim);
            let call = call.clone();
            tokio::spawn(async move {
                match owner_of(store, claim).await {
                    Owner::Us => ask(call, asking, reply).await,
                    Owner::AnotherNode => {
                        let _ = me.cast(LinesMessage::ClaimsLost(vec![claim]));
                        let _ = reply.send(Err(NotGoingOn::Elsewhere));
                    }
                    Owner::Unknown => drop(reply.send(Err(NotGoingOn::NotKnown))),
                }
            });
            return;
        }
        if self.pool.dialer_of(attempt).is_some() {
            // The call is being settled.
            let _ = reply.send(Err(NotGoingOn::Over));
            return;
        }
        let crowded = self.on_their_way.len() >= MOST_AT_ONCE || self.is_overfull();
        match self.on_their_way.get_mut(&attempt) {
            Some(waiting) if waiting.len() < MOST_WAITING => waiting.push(reply),
            None if !crowded && !self.takes_no_more => {
                self.on_their_way.insert(attempt, vec![reply]);
                let (me, ports, node, times) = (me.clone(), self.with.ports.clone(), self.with.node, self.with.times);
                let registry = self.registry.clone();
                tokio::spawn(async move {
                    let mut fetching = tokio::spawn(fetch((ports, registry), (node, times), asking));
                    let mut taken = timeout(TAKEN_WITHIN, &mut fetching).await;
                    if taken.is_err() {
                        let _ = me.cast(LinesMessage::Returned { attempt, taken: None });
                        taken = Ok(fetching.await);
                    }
                    // The panic was logged.
                    let taken = taken.ok().and_then(Result::ok).unwrap_or(Err(NotGoingOn::NotKnown));
                    let taken = Some(taken);
                    let _ = me.cast(LinesMessage::Returned { attempt, taken });
                });
            }
            _ => {
                // The next request may find room at another node or here.
                tracing::warn!(%attempt, "takeover of a live call refused: no capacity");
                let _ = reply.send(Err(NotGoingOn::NotKnown));
            }
        }
    }

    /// Begins a call that was another process's, or refuses it. `taken` is `None` if the store is slow: the
    /// next request may find the call begun.
    pub(super) async fn returned(
        &mut self,
        me: &ActorRef<LinesMessage>,
        attempt: AttemptId,
        taken: Option<Result<HeldReturn, NotGoingOn>>,
    ) {
        let Some(taken) = taken else {
            for reply in self
                .on_their_way
                .get_mut(&attempt)
                .map(std::mem::take)
                .unwrap_or_default()
            {
                let _ = reply.send(Err(NotGoingOn::NotKnown));
            }
            return;
        };
        let waiting = self.on_their_way.remove(&attempt).unwrap_or_default();
        let begun = match taken {
            Err(not) => Err(not),
            Ok(held) => self.go_on_with(me, held).await,
        };
        for reply in waiting {
            let _ = reply.send(begun.clone());
        }
    }

    /// Returns whether one more call would be too many, including those on their way.
    fn is_overfull(&self) -> bool {
        let (share, least) = MOST_ABOVE;
        let lines = self.pool.lines();
        self.pool.live() + self.on_their_way.len() >= lines + (lines / share).max(least)
    }

    async fn go_on_with(&mut self, me: &ActorRef<LinesMessage>, held: HeldReturn) -> Result<GoesOn, NotGoingOn> {
        let (plan, _seen_to) = held.take().ok_or(NotGoingOn::Over)?;
        let inherited = plan.inherited.clone().ok_or(NotGoingOn::Over)?;
        let attempt = plan.attempt.claim.attempt;
        let dialer = match plan.direction() {
            CallDirection::Inbound => Dialer::Inbound,
            CallDirection::Outbound => Dialer::from(plan.attempt.campaign),
        };
        tracing::warn!(%attempt, carrier = plan.carrier.name(), "live call of another node taken over");
        self.pool.adopt(attempt, dialer);
        match self.begin(me, *plan, dialer).await {
            true => {
                if self.grace_is_over {
                    self.hang_up(|_| true);
                }
                Ok(GoesOn {
                    back: WayBack::of(attempt, &inherited.call.token),
                    asked_before: 0,
                })
            }
            false => Err(NotGoingOn::Over),
        }
    }
}

async fn ask(call: ActorRef<CallMessage>, asking: Asking, reply: ReturnReply) {
    let Asking { proof, leg, .. } = asking;
    let asked = call.call(|reply| CallMessage::CameBack { proof, leg, reply }, Some(TAKEN_WITHIN));
    let answer = match asked.await {
        Ok(CallResult::Success(answer)) => answer.map_err(|_| NotGoingOn::Over),
        // The call ended meanwhile.
        Ok(CallResult::SenderError) | Err(_) => Err(NotGoingOn::Over),
        Ok(CallResult::Timeout) => Err(NotGoingOn::NotKnown),
    };
    let _ = reply.send(answer);
}

/// Takes over a call whose owner is dead or unreachable, and plans its rest.
async fn fetch(
    (ports, registry): (Ports, CallRegistry),
    (node, times): (NodeId, Times),
    asking: Asking,
) -> Result<HeldReturn, NotGoingOn> {
    let attempt = asking.attempt;
    let (store, carrier) = (Arc::clone(&ports.store), asking.carrier);
    let owner = store
        .owner_of(attempt)
        .await
        .map_err(|error| not_taken(attempt, &error))?;
    let owner = owner.ok_or(NotGoingOn::Over)?;
    let held = Claim {
        attempt,
        owner: owner.node,
        epoch: owner.epoch,
    };
    // A call of this node also goes on if nobody here handles it: the answer that it was taken over may have been lost.
    let _seen_to = match owner.node == node {
        true => Some(registry.see_to(held).ok_or(NotGoingOn::Over)?),
        false => None,
    };
    if owner.node != node && owner.alive && owner.address.is_none() {
        // The owner cannot be asked. The call goes on there once the owner is asked or no longer alive.
        return Err(NotGoingOn::NotKnown);
    }
    let token = store
        .dial_token(attempt)
        .await
        .map_err(|error| not_taken(attempt, &error))?;
    let carrier = ports.carriers.named(carrier).filter(|_| proves(&token, &asking.proof));
    let carrier = carrier.cloned().ok_or(NotGoingOn::Over)?;
    let returning = ReturningCall {
        held,
        carrier: asking.carrier.to_owned(),
        call: asking.leg.clone(),
    };
    let taking = async move { store.take_over(node, returning).await };
    let call = contained(taking).await.map_err(|error| not_taken(attempt, &error))?;
    planned((ports, registry), times, (call, asking.leg), &carrier).await
}

fn proves(token: &DialToken, proof: &str) -> bool {
    token.verify(Purpose::Media, proof)
}

fn not_taken(attempt: AttemptId, error: &StoreError) -> NotGoingOn {
    match error {
        // Never sent, over, or of another carrier or leg.
        StoreError::NotFound | StoreError::Exists(_) => NotGoingOn::Over,
        // Another node was faster, or this one is not confirmed as alive. The next answer will differ.
        error => {
            tracing::warn!(%attempt, %error, "takeover of a live call failed");
            NotGoingOn::NotKnown
        }
    }
}

/// Plans the call. From here on the row is this node's, so on any failure the call goes on or is settled.
async fn planned(
    (ports, registry): (Ports, CallRegistry),
    times: Times,
    (call, leg): (ReturnedCall, CarrierCallId),
    carrier: &Arc<dyn Carrier>,
) -> Result<HeldReturn, NotGoingOn> {
    // Comes before anything that may fail. If somebody handles the call already, they settle it.
    let seen_to = registry.see_to(call.attempt.claim).ok_or(NotGoingOn::Over)?;
    let mut held = HeldReturn {
        lost: Some(Box::new(LostCall {
            ended: Ended {
                direction: call.direction,
                ..Ended::from(&call.attempt)
            },
            to: call.attempt.contact.phone_number.clone(),
            carrier: carrier.name().to_owned(),
            leg: Some(leg.clone()),
            since: ports.clock.now(),
            times: Default::default(),
            error: MEDIA_LOST.to_owned(),
            meter: Meter::default(),
        })),
        plan: None,
        seen_to: Some(seen_to),
        ports: ports.clone(),
        times,
    };
    let attempt = &call.attempt;
    let (account, first, present) = (attempt.account, attempt.agent, present_agent(&call));
    let now = ports.clock.now();
    let context = |agent| PlanContext {
        agent,
        agent_version: None,
        ring_timeout: Duration::ZERO,
        now,
    };
    let began_with = agent_of(&ports, account, first).await.inspect_err(|_| {
        tracing::error!(agent = %first, "live call ended: its agent cannot be read");
    })?;
    let successor = match present.filter(|present| *present != first) {
        Some(present) => agent_of(&ports, account, present)
            .await
            .ok()
            .map(|agent| (present, agent)),
        None => None,
    };
    let (agent_id, agent, before) = match successor {
        Some((id, agent)) => (id, bound(agent, &began_with), Some(began_with)),
        None => (first, began_with, None),
    };
    let plan = plan_inherited((call, leg), carrier, (agent_id, &context(agent)), before);
    held.plan = Some(Box::new(plan));
    Ok(held)
}

/// Reads an agent's present version.
async fn agent_of(ports: &Ports, account: AccountId, id: AgentId) -> Result<Arc<Agent>, NotGoingOn> {
    for _ in 0..AGENT_TRIES {
        let store = Arc::clone(&ports.store);
        match contained(async move { agent_for_calls(&*store, account, id).await }).await {
            Ok(row) => {
                return agent::complete(&row.document)
                    .map(Arc::new)
                    .map_err(|_| NotGoingOn::Over);
            }
            Err(StoreError::Unavailable(error)) => {
                tracing::warn!(agent = %id, error, "reading an agent failed, trying again");
                tokio::time::sleep(AGENT_PAUSE).await;
            }
            Err(_) => break,
        }
    }
    Err(NotGoingOn::Over)
}

/// Returns the agent that spoke last, if another agent has taken the call over.
fn present_agent(call: &ReturnedCall) -> Option<AgentId> {
    let last = last_handed_over(&call.events)?;
    let detail: Value = serde_json::from_str(&call.events[last].detail).ok()?;
    detail["agentId"].as_str()?.parse().ok()
}
