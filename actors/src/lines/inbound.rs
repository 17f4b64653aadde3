//! Inbound calls. The agent of the number is looked up, a free line is taken, an attempt is written to disk,
//! and only then the call begins. An announcement repeated while the call lives refers to the same call;
//! afterwards it is not answered.

use std::{sync::Arc, time::Duration};

use ractor::{ActorRef, rpc::CallResult};
use serde_json::Map;
use tokio::time::timeout;

use super::{
    CallRegistry, Dialer, InboundReply, LinesMessage, LinesState, LostCall, SeenTo, WantedAgent,
    announced::Announced,
    settle::{NOT_TAKEN, write_off},
};
use crate::attempt::{CallPlan, PlanContext, plan_inbound};
use domain::{
    agent::{self, Agent},
    id::{AccountId, AttemptId, NodeId},
    phone_number::PhoneNumber,
    ports::{
        Ports,
        carrier::{InboundCall, InboundRefusal, WayBack},
        store::{AgentRow, NewInboundCall, StoreError, with_transfer_rules},
    },
};

/// Time limit for the store: a carrier's announcement is answered within 5 s.
const TAKEN_WITHIN: Duration = Duration::from_secs(4);

/// Additional time for the store after the carrier got its answer. The attempt then waits for a second announcement.
const MADE_WITHIN: Duration = Duration::from_secs(20);

/// Time that an attempt created too late waits for its call to be announced again.
const HELD_FOR: Duration = Duration::from_secs(10);

/// Number of calls that may wait for the store. Further calls are refused.
const MOST_ASKING: usize = 1_024;

/// Number of announcements of one call that may wait for the same answer. Further ones are refused.
const MOST_WAITING: usize = 16;

/// An attempt that waits for its call to begin. If it is dropped before that, it is settled, since its row
/// must not stay open. Its leg is left alone: the carrier was told that nobody takes the call, and may have
/// connected it elsewhere.
pub struct HeldInbound {
    plan: Option<Box<CallPlan>>,
    ports: Ports,
    /// Prevents others from settling it meanwhile.
    seen_to: Option<SeenTo>,
}

impl HeldInbound {
    fn take(mut self) -> Option<(Box<CallPlan>, Option<SeenTo>)> {
        Some((self.plan.take()?, self.seen_to.take()))
    }
}

impl Drop for HeldInbound {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and the next start settles the attempt.
        if let (Some(plan), Ok(runtime)) = (self.plan.take(), tokio::runtime::Handle::try_current()) {
            let (ports, seen_to) = (self.ports.clone(), self.seen_to.take());
            let lost = LostCall::of(&plan, ports.clock.now(), NOT_TAKEN);
            runtime.spawn(async move {
                write_off(&ports, lost).await;
                drop(seen_to);
            });
        }
    }
}

impl LinesState {
    /// Answers for a known call, or looks up the agent for a new one.
    pub(super) async fn announce(
        &mut self,
        me: &ActorRef<LinesMessage>,
        (call, wanted): (InboundCall, Option<WantedAgent>),
        reply: InboundReply,
    ) {
        let leg = (call.carrier, call.call.clone());
        if let Some((attempt, held)) = self.announced.held(&leg) {
            let waiting = vec![reply];
            self.announced.legs.insert(leg, Announced::Asking { attempt, waiting });
            return self.received(me, (call, attempt), Ok(held)).await;
        }
        let crowded = self.announced.asking() >= MOST_ASKING;
        let refusal = match self.announced.legs.get_mut(&leg) {
            Some(Announced::Live { attempt, back }) if self.calls.contains_key(attempt) => {
                let _ = reply.send(Ok(back.clone()));
                return;
            }
            Some(Announced::Asking { waiting, .. }) if waiting.len() < MOST_WAITING => {
                waiting.push(reply);
                return;
            }
            // The call crashed and is being settled.
            Some(Announced::Live { .. }) => InboundRefusal::NobodyAnswers,
            Some(Announced::Asking { .. } | Announced::Held { .. }) => InboundRefusal::Unavailable,
            None if self.pool.is_full() => InboundRefusal::Busy,
            None if crowded => InboundRefusal::Unavailable,
            None => {
                let (attempt, waiting) = (AttemptId::new(), vec![reply]);
                self.announced.legs.insert(leg, Announced::Asking { attempt, waiting });
                self.ask(me, (call, wanted), attempt);
                return;
            }
        };
        refused(&call, refusal);
        let _ = reply.send(Err(refusal));
    }

    /// Takes a line for a call that an agent answers. `waits_for_socket` is the account of a call that has no
    /// media socket yet.
    pub(super) fn take_line(
        &mut self,
        (call, attempt): (&InboundCall, AttemptId),
        waits_for_socket: Option<AccountId>,
    ) -> Result<(), InboundRefusal> {
        if !self.announced.is_asked(&(call.carrier, call.call.clone()), attempt) {
            return Err(InboundRefusal::Unavailable);
        }
        if waits_for_socket.is_some_and(|account| !self.announced.waits_for_socket(attempt, account)) {
            return Err(InboundRefusal::TooMany);
        }
        let taken = self.pool.take(attempt, Dialer::Inbound);
        taken.then_some(()).ok_or(InboundRefusal::Busy)
    }

    /// Tells the requesters that the store is slow. They may announce the call again.
    pub(super) fn too_slow(&mut self, call: &InboundCall, attempt: AttemptId) {
        let leg = (call.carrier, call.call.clone());
        for reply in self.announced.impatient(&leg, attempt) {
            refused(call, InboundRefusal::Unavailable);
            let _ = reply.send(Err(InboundRefusal::Unavailable));
        }
    }

    /// Releases a call whose attempt was created too late and that was not announced again.
    pub(super) fn let_go(&mut self, call: &InboundCall, attempt: AttemptId) {
        let leg = (call.carrier, call.call.clone());
        let held =
            matches!(self.announced.legs.get(&leg), Some(Announced::Held { attempt: held, .. }) if *held == attempt);
        if held {
            self.announced.over(attempt);
            self.pool.end(attempt);
        }
    }

    fn hold(&mut self, me: &ActorRef<LinesMessage>, (call, attempt): (InboundCall, AttemptId), held: HeldInbound) {
        let leg = (call.carrier, call.call.clone());
        self.announced.legs.insert(leg, Announced::Held { attempt, held });
        let me = me.clone();
        tokio::spawn(async move {
            tokio::time::sleep(HELD_FOR).await;
            let _ = me.cast(LinesMessage::LetGo { call, attempt });
        });
    }

    /// Looks up the agent that takes the call, and creates its attempt.
    fn ask(&self, me: &ActorRef<LinesMessage>, (call, wanted): (InboundCall, Option<WantedAgent>), attempt: AttemptId) {
        let (me, ports, node, registry) = (
            me.clone(),
            self.with.ports.clone(),
            self.with.node,
            self.registry.clone(),
        );
        tokio::spawn(async move {
            let within = (ports, me.clone(), registry);
            let mut receiving = tokio::spawn(receive(within, node, (call.clone(), wanted, attempt)));
            let mut taken = timeout(TAKEN_WITHIN, &mut receiving).await;
            if taken.is_err() {
                let call = call.clone();
                let _ = me.cast(LinesMessage::TooSlow { call, attempt });
                taken = timeout(MADE_WITHIN, receiving).await;
            }
            let taken = match taken {
                Ok(Ok(taken)) => taken,
                // A panic, which was logged, or a slow store: an attempt it still creates is settled when it
                // is dropped.
                Ok(Err(_)) | Err(_) => Err(InboundRefusal::Unavailable),
            };
            let _ = me.cast(LinesMessage::Received { call, attempt, taken });
        });
    }

    /// Begins the call, unless it is refused or nobody waits for it any more.
    pub(super) async fn received(
        &mut self,
        me: &ActorRef<LinesMessage>,
        (call, attempt): (InboundCall, AttemptId),
        taken: Result<HeldInbound, InboundRefusal>,
    ) {
        let leg = (call.carrier, call.call.clone());
        let Some(waiting) = self.announced.answered(&leg, attempt) else {
            return;
        };
        let given_up = waiting.iter().all(InboundReply::is_closed);
        let begun = match taken {
            Err(refusal) => Err(refusal),
            // It could no longer be hung up.
            Ok(_) if self.grace_is_over => Err(InboundRefusal::Busy),
            Ok(held) if given_up => return self.hold(me, (call, attempt), held),
            Ok(held) => self.begin_inbound(me, held).await,
        };
        match &begun {
            Ok(back) => {
                let back = back.clone();
                self.announced.legs.insert(leg, Announced::Live { attempt, back });
            }
            Err(refusal) => {
                refused(&call, *refusal);
                // A call that crashed at its start keeps its line until it is settled.
                if self.registry.get(attempt).is_none() {
                    self.announced.over(attempt);
                    self.pool.end(attempt);
                }
            }
        }
        for reply in waiting {
            let _ = reply.send(begun.clone());
        }
    }

    async fn begin_inbound(
        &mut self,
        me: &ActorRef<LinesMessage>,
        held: HeldInbound,
    ) -> Result<WayBack, InboundRefusal> {
        // The call is in the registry before this releases it.
        let (plan, _seen_to) = held.take().ok_or(InboundRefusal::Unavailable)?;
        let back = way_back(&plan).ok_or(InboundRefusal::Unavailable)?;
        let attempt = plan.attempt.claim.attempt;
        let to = plan.inbound.as_ref().map(|leg| leg.to.masked());
        tracing::info!(%attempt, carrier = plan.carrier.name(), to, "inbound call");
        match self.begin(me, *plan, Dialer::Inbound).await {
            true => Ok(back),
            false => Err(InboundRefusal::Unavailable),
        }
    }
}

fn refused(call: &InboundCall, refusal: InboundRefusal) {
    let (carrier, to) = (call.carrier, call.to.masked());
    tracing::info!(carrier, to, %refusal, "inbound call refused");
}

fn way_back(plan: &CallPlan) -> Option<WayBack> {
    let token = &plan.inbound.as_ref()?.token;
    Some(WayBack::of(plan.attempt.claim.attempt, token))
}

/// Creates the attempt of a call whose number an agent answers here, and plans its conversation.
async fn receive(
    (ports, lines, registry): (Ports, ActorRef<LinesMessage>, CallRegistry),
    node: NodeId,
    (call, wanted, attempt): (InboundCall, Option<WantedAgent>, AttemptId),
) -> Result<HeldInbound, InboundRefusal> {
    let Some(carrier) = ports.carriers.named(call.carrier) else {
        tracing::error!(
            carrier = call.carrier,
            "inbound call from a carrier that is not configured"
        );
        return Err(InboundRefusal::NobodyAnswers);
    };
    let unsaved = wanted.as_ref().and_then(|wanted| {
        let test = wanted.test.as_ref()?;
        test.unsaved_row(wanted.account, wanted.agent, ports.clock.now())
    });
    let row = match (unsaved, &wanted) {
        (Some(row), _) => Ok(Some(row)),
        (None, Some(wanted)) => ports.store.agent(wanted.account, wanted.agent).await.map(Some),
        (None, None) => ports.store.answering_agent(&call.to).await,
    };
    let row = row.map_err(|e| not_taken(&e))?.ok_or(InboundRefusal::NobodyAnswers)?;
    let row = with_transfer_rules(&*ports.store, row)
        .await
        .map_err(|e| not_taken(&e))?;
    let agent = Arc::new(able(&ports, &row, &call, wanted.as_ref())?);
    take_line(&lines, (&call, attempt), wanted.is_some().then_some(row.account)).await?;
    let is_text = wanted.as_ref().is_some_and(WantedAgent::is_text);
    let (ticket, variables, test) = match wanted {
        Some(wanted) => (wanted.ticket, wanted.variables, wanted.test),
        None => Default::default(),
    };
    let new = NewInboundCall {
        attempt,
        account: row.account,
        agent: row.id,
        agent_version: row.version,
        carrier: call.carrier.to_owned(),
        call: call.call.clone(),
        from: call.from.clone().unwrap_or_else(PhoneNumber::withheld),
        to: call.to.clone(),
        ticket,
        variables,
        test,
    };
    let received = ports.store.receive_call(node, new).await.map_err(|e| not_taken(&e))?;
    let received = received.ok_or(InboundRefusal::NobodyAnswers)?;
    let seen_to = registry.see_to(received.attempt.claim);
    let context = PlanContext {
        agent,
        agent_version: None,
        // It rings at the caller's side only.
        ring_timeout: Duration::ZERO,
        now: ports.clock.now(),
    };
    let plan = CallPlan {
        is_text,
        ..plan_inbound(received, (carrier, &call), &context)
    };
    let plan = Some(Box::new(plan));
    Ok(HeldInbound {
        plan,
        ports: ports.clone(),
        seen_to,
    })
}

async fn take_line(
    lines: &ActorRef<LinesMessage>,
    (call, attempt): (&InboundCall, AttemptId),
    waits_for_socket: Option<AccountId>,
) -> Result<(), InboundRefusal> {
    let message = |reply| LinesMessage::TakeLine {
        call: call.clone(),
        attempt,
        waits_for_socket,
        reply,
    };
    match lines.call(message, Some(TAKEN_WITHIN)).await {
        Ok(CallResult::Success(taken)) => taken,
        Ok(CallResult::Timeout | CallResult::SenderError) | Err(_) => Err(InboundRefusal::Unavailable),
    }
}

/// Returns the agent, if it takes calls to this number at this carrier and can hold one now.
fn able(
    ports: &Ports,
    row: &AgentRow,
    call: &InboundCall,
    wanted: Option<&WantedAgent>,
) -> Result<Agent, InboundRefusal> {
    let agent = agent::complete(&row.document).map_err(|error| {
        tracing::error!(agent = %row.id, %error, "call refused: agent not readable");
        InboundRefusal::NobodyAnswers
    })?;
    let is_test = wanted.is_some_and(|wanted| wanted.test.is_some());
    let takes_it = match call.to.is_nobodys() {
        true => is_test || agent.takes_calls(),
        false => agent.answers(&call.to, call.carrier),
    };
    if !takes_it {
        return Err(InboundRefusal::NobodyAnswers);
    }
    let overridden = wanted.and_then(|wanted| agent.overridden([&wanted.variables, &Map::new()]));
    let own = overridden.as_ref().map_or(&agent, |(own, _)| own);
    let obstacle = match wanted.is_some_and(WantedAgent::is_text) {
        true => ports.health.obstacle_in_text(own),
        false => ports.health.obstacle(own),
    };
    match obstacle {
        // The caller would hear nothing.
        Some(obstacle) => {
            tracing::warn!(agent = %row.id, obstacle, "call refused: agent cannot talk now");
            Err(InboundRefusal::Unavailable)
        }
        None => Ok(agent),
    }
}

fn not_taken(error: &StoreError) -> InboundRefusal {
    match error {
        // The call is over or was dialed by us, or the requested agent does not exist.
        StoreError::Exists(_) | StoreError::NotFound => InboundRefusal::NobodyAnswers,
        error => {
            tracing::warn!(%error, "creating the attempt of an inbound call failed");
            InboundRefusal::Unavailable
        }
    }
}
