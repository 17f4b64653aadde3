//! Calls from outside: whoever answers the number is found, then each takes a free line, then an attempt on disk, and only
//! then begins. Announced again while it lives, it is the same call; afterwards nobody answers it.

use std::{sync::Arc, time::Duration};

use ractor::{ActorRef, rpc::CallResult};
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
        store::{AgentRow, NewInboundCall, StoreError},
    },
};

/// How long the store may take: a carrier's announcement is answered within 5 s.
const TAKEN_WITHIN: Duration = Duration::from_secs(4);

/// When the carrier has had its answer, the store may take so much longer; the attempt waits for a second announcement.
const MADE_WITHIN: Duration = Duration::from_secs(20);

/// An attempt that was made too late waits so long for its call to be announced again.
const HELD_FOR: Duration = Duration::from_secs(10);

/// How many calls may wait for what the store says of them; more are refused.
const MOST_ASKING: usize = 1_024;

/// How many announcements of one call wait for the same answer; more are refused.
const MOST_WAITING: usize = 16;

/// An attempt that waits for its call to begin. Dropped before that, it is settled: its row must not stay open. Its leg is
/// left alone, as the carrier was told that nobody takes it, and may have found somebody else.
pub struct HeldInbound {
    plan: Option<Box<CallPlan>>,
    ports: Ports,
    /// Nobody else settles it meanwhile.
    seen_to: Option<SeenTo>,
}

impl HeldInbound {
    fn take(mut self) -> Option<(Box<CallPlan>, Option<SeenTo>)> {
        Some((self.plan.take()?, self.seen_to.take()))
    }
}

impl Drop for HeldInbound {
    fn drop(&mut self) {
        // Without a runtime the process is ending; the next start settles what it left.
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
    /// Answers for a call that is known, or finds out who takes a new one.
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
            // It crashed, and is being settled.
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

    /// A line for a call that somebody answers; `waits_for_socket` of whom, where it has none to begin with.
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

    /// The store is slow: whoever announced the call is told so, and may announce it again.
    pub(super) fn too_slow(&mut self, call: &InboundCall, attempt: AttemptId) {
        let leg = (call.carrier, call.call.clone());
        for reply in self.announced.impatient(&leg, attempt) {
            refused(call, InboundRefusal::Unavailable);
            let _ = reply.send(Err(InboundRefusal::Unavailable));
        }
    }

    /// A call that was taken too late was not announced again.
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

    /// Finds out who takes the call, and makes its attempt.
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
                // A panic, which has been logged; or the store is slow: what it makes yet is settled as it is dropped.
                Ok(Err(_)) | Err(_) => Err(InboundRefusal::Unavailable),
            };
            let _ = me.cast(LinesMessage::Received { call, attempt, taken });
        });
    }

    /// The call begins, unless it is refused or nobody waits for it any more.
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
            // Nobody would hang it up any more.
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
                // One that died as it began keeps its line until it is settled.
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
        // The call is in the registry before it is let go of here.
        let (plan, _seen_to) = held.take().ok_or(InboundRefusal::Unavailable)?;
        let back = way_back(&plan).ok_or(InboundRefusal::Unavailable)?;
        let attempt = plan.attempt.claim.attempt;
        let to = plan.inbound.as_ref().map(|leg| leg.to.masked());
        tracing::info!(%attempt, carrier = plan.carrier.name(), to, "call from outside");
        match self.begin(me, *plan, Dialer::Inbound).await {
            true => Ok(back),
            false => Err(InboundRefusal::Unavailable),
        }
    }
}

fn refused(call: &InboundCall, refusal: InboundRefusal) {
    let (carrier, to) = (call.carrier, call.to.masked());
    tracing::info!(carrier, to, %refusal, "call from outside refused");
}

fn way_back(plan: &CallPlan) -> Option<WayBack> {
    let token = &plan.inbound.as_ref()?.token;
    Some(WayBack::of(plan.attempt.claim.attempt, token))
}

/// Makes the attempt of a call whose number an agent answers here, and plans its conversation.
async fn receive(
    (ports, lines, registry): (Ports, ActorRef<LinesMessage>, CallRegistry),
    node: NodeId,
    (call, wanted, attempt): (InboundCall, Option<WantedAgent>, AttemptId),
) -> Result<HeldInbound, InboundRefusal> {
    let Some(carrier) = ports.carriers.named(call.carrier) else {
        tracing::error!(
            carrier = call.carrier,
            "a call was announced by a carrier that is not configured"
        );
        return Err(InboundRefusal::NobodyAnswers);
    };
    let row = match &wanted {
        Some(wanted) => ports.store.agent(wanted.account, wanted.agent).await.map(Some),
        None => ports.store.answering_agent(&call.to).await,
    };
    let row = row.map_err(|e| not_taken(&e))?.ok_or(InboundRefusal::NobodyAnswers)?;
    let agent = Arc::new(able(&ports, &row, &call)?);
    take_line(&lines, (&call, attempt), wanted.is_some().then_some(row.account)).await?;
    let (ticket, variables) = wanted.map(|wanted| (wanted.ticket, wanted.variables)).unzip();
    let new = NewInboundCall {
        attempt,
        account: row.account,
        agent: row.id,
        carrier: call.carrier.to_owned(),
        call: call.call.clone(),
        from: call.from.clone().unwrap_or_else(PhoneNumber::withheld),
        to: call.to.clone(),
        ticket: ticket.flatten(),
    };
    let received = ports.store.receive_call(node, new).await.map_err(|e| not_taken(&e))?;
    let mut received = received.ok_or(InboundRefusal::NobodyAnswers)?;
    let seen_to = registry.see_to(received.attempt.claim);
    // Nothing dials such a call again: its values are needed nowhere but here.
    received.attempt.variables = variables.unwrap_or_default();
    let context = PlanContext {
        agent,
        // It rings at the caller's side only.
        ring_timeout: Duration::ZERO,
        now: ports.clock.now(),
    };
    let plan = Some(Box::new(plan_inbound(received, (carrier, &call), &context)));
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

/// The agent, if it takes calls to this number at this carrier and can hold one now.
fn able(ports: &Ports, row: &AgentRow, call: &InboundCall) -> Result<Agent, InboundRefusal> {
    let agent = agent::complete(&row.document).map_err(|error| {
        tracing::error!(agent = %row.id, %error, "agent cannot be read, its call is refused");
        InboundRefusal::NobodyAnswers
    })?;
    let takes_it = match call.to.is_nobodys() {
        true => agent.takes_calls(),
        false => agent.answers(&call.to, call.carrier),
    };
    if !takes_it {
        return Err(InboundRefusal::NobodyAnswers);
    }
    match ports.health.obstacle(&agent) {
        // Whoever is put through would hear nothing.
        Some(obstacle) => {
            tracing::warn!(agent = %row.id, obstacle, "agent cannot talk now, its call is refused");
            Err(InboundRefusal::Unavailable)
        }
        None => Ok(agent),
    }
}

fn not_taken(error: &StoreError) -> InboundRefusal {
    match error {
        // It is over, or was dialed by us; or the agent it asks for is gone.
        StoreError::Exists(_) | StoreError::NotFound => InboundRefusal::NobodyAnswers,
        error => {
            tracing::warn!(%error, "no attempt for a call from outside");
            InboundRefusal::Unavailable
        }
    }
}
