//! Live calls whose media socket broke and which their carrier brings here, asking how they go on. One that lives here says
//! so itself. One of a process that is dead, or that nobody reaches, becomes this node's: guarded by owner and epoch, so that
//! one node has it and what its old owner still writes is refused.

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
        store::{CallDirection, Claim, ReturnedCall, ReturningCall, StoreError},
        usage::Meter,
    },
};

/// How long the store may take: a carrier waits some seconds for its answer.
const TAKEN_WITHIN: Duration = Duration::from_secs(4);

/// How many calls may be on their way here at once; more are told to ask again.
const MOST_AT_ONCE: usize = 1_024;

/// How many askers of one call wait for the same answer.
const MOST_WAITING: usize = 8;

/// How often an agent is asked for while the store is away, and the pause between.
const AGENT_TRIES: usize = 3;
const AGENT_PAUSE: Duration = Duration::from_millis(300);

/// Calls that live are given up last: a node that is full, or drains, takes so many more, as a share of its lines and at
/// least.
const MOST_ABOVE: (usize, usize) = (4, 8);

/// Why a call whose carrier asks does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotGoingOn {
    /// It is over, is another's, or the proof is none: it is to be hung up.
    #[error("the call is over")]
    Over,
    /// It was taken over by another node, as its row says: that one is to be asked.
    #[error("another node has taken the call over")]
    Elsewhere,
    /// That cannot be said now: it is to be asked again.
    #[error("not known now")]
    NotKnown,
}

/// Where the answer to a carrier goes that asks how a call goes on.
pub type ReturnReply = RpcReplyPort<Result<GoesOn, NotGoingOn>>;

/// What a carrier shows that asks how a call goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    /// The carrier whose endpoint it came to.
    pub carrier: &'static str,
    /// The attempt in the address.
    pub attempt: AttemptId,
    /// The proof in the address (`Purpose::Media`).
    pub proof: String,
    /// The carrier's id of the leg.
    pub leg: CarrierCallId,
}

/// The calls that are on their way here, with those who asked.
pub(super) type OnTheirWay = HashMap<AttemptId, Vec<ReturnReply>>;

/// A call that is this node's by its row and has not begun here. Dropped before that, it is settled: nobody else would.
pub struct HeldReturn {
    /// None once it began.
    lost: Option<Box<LostCall>>,
    plan: Option<Box<CallPlan>>,
    /// So that nobody else settles it before it begins.
    seen_to: Option<SeenTo>,
    ports: Ports,
    times: Times,
}

impl HeldReturn {
    /// The call; what sees to it is to be kept until it has begun.
    fn take(mut self) -> Option<(Box<CallPlan>, Option<SeenTo>)> {
        let plan = self.plan.take()?;
        self.lost = None;
        Some((plan, self.seen_to.take()))
    }
}

impl Drop for HeldReturn {
    fn drop(&mut self) {
        // Without a runtime the process is ending; another one settles what it left.
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
    /// Has a call that lives here say how it goes on, or looks whether it may become this node's.
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
            // It is being settled.
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
                    // A panic has been logged.
                    let taken = taken.ok().and_then(Result::ok).unwrap_or(Err(NotGoingOn::NotKnown));
                    let taken = Some(taken);
                    let _ = me.cast(LinesMessage::Returned { attempt, taken });
                });
            }
            _ => {
                // Asked again, another node may have a place, or this one.
                tracing::warn!(%attempt, "a live call of another node is not taken over now: there is no place for it");
                let _ = reply.send(Err(NotGoingOn::NotKnown));
            }
        }
    }

    /// A call that was another process's begins here, or does not; none where the store is slow: who asks again then may
    /// find it begun.
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

    /// Whether one more would be too many, with those on their way.
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
        // It ended meanwhile.
        Ok(CallResult::SenderError) | Err(_) => Err(NotGoingOn::Over),
        Ok(CallResult::Timeout) => Err(NotGoingOn::NotKnown),
    };
    let _ = reply.send(answer);
}

/// Makes a call this node's whose owner is dead or out of reach, and plans its rest.
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
    // One that is this node's goes on as well where nobody here sees to it: the answer that it was taken may be lost.
    let _seen_to = match owner.node == node {
        true => Some(registry.see_to(held).ok_or(NotGoingOn::Over)?),
        false => None,
    };
    if owner.node != node && owner.alive && owner.address.is_none() {
        // Nobody could ask it: it goes on there, once it is asked, or is not alive any more.
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
        // Another node was faster, or this one is not known to live: asked again, the answer is another.
        error => {
            tracing::warn!(%attempt, %error, "a live call could not be taken over");
            NotGoingOn::NotKnown
        }
    }
}

/// From here on the row is this node's: whatever fails, the call goes on or is settled.
async fn planned(
    (ports, registry): (Ports, CallRegistry),
    times: Times,
    (call, leg): (ReturnedCall, CarrierCallId),
    carrier: &Arc<dyn Carrier>,
) -> Result<HeldReturn, NotGoingOn> {
    // Before anything that may fail. Whoever sees to it already settles it.
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
        ring_timeout: Duration::ZERO,
        now,
    };
    let began_with = agent_of(&ports, account, first).await.inspect_err(|_| {
        tracing::error!(agent = %first, "the agent of a live call cannot be had: the call is ended");
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

/// An agent as it is now.
async fn agent_of(ports: &Ports, account: AccountId, id: AgentId) -> Result<Arc<Agent>, NotGoingOn> {
    for _ in 0..AGENT_TRIES {
        let store = Arc::clone(&ports.store);
        match contained(async move { store.agent(account, id).await }).await {
            Ok(row) => {
                return agent::complete(&row.document)
                    .map(Arc::new)
                    .map_err(|_| NotGoingOn::Over);
            }
            Err(StoreError::Unavailable(error)) => {
                tracing::warn!(agent = %id, error, "an agent could not be read, trying again");
                tokio::time::sleep(AGENT_PAUSE).await;
            }
            Err(_) => break,
        }
    }
    Err(NotGoingOn::Over)
}

/// The agent that spoke last, where another one has taken the call over.
fn present_agent(call: &ReturnedCall) -> Option<AgentId> {
    let last = call
        .events
        .iter()
        .rfind(|event| event.name.starts_with("agent_transfer"))?;
    (last.name == "agent_transfer").then_some(())?;
    let detail: Value = serde_json::from_str(&last.detail).ok()?;
    detail["agentId"].as_str()?.parse().ok()
}
