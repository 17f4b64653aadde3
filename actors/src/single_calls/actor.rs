//! The actor of single calls: it counts waiting calls, asks for lines, claims calls and starts them. The
//! queue is in the store, so that a call outlives the process that queued it.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
    time::Duration,
};

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::{PlaceError, PlaceReply, ReadyCalls, SingleCallsMessage};
use crate::{
    attempt::{PlanContext, line, overridden, plan},
    call::EndReason,
    lines::{Dialer, HeldClaims, LinesMessage, LinesNotice, Requester},
    supervision::{Sibling, TaskGuard, contained},
};
use domain::{
    agent::{self, Agent},
    id::{AccountId, AgentId, NodeId},
    ports::{
        Ports,
        store::{ClaimedAttempt, KeyTicket, NewCall, Store, StoreError, StoreResult, WaitingCalls, agent_for_calls},
    },
};

/// Interval at which it looks for calls queued by other nodes or by a process that died.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Pause before it looks again after a store failure, or while calls wait for lines.
const LOOK_SOON: Duration = Duration::from_secs(1);

/// Arguments with which the actor starts.
#[derive(Clone)]
pub struct SingleCallsArguments {
    /// Id of this process.
    pub node: NodeId,
    /// The ports to the outside.
    pub ports: Ports,
    /// The line pool.
    pub lines: Sibling<LinesMessage>,
    /// Longest ringing time of a call.
    pub ring_timeout: Duration,
    /// Whether other nodes are alive.
    pub other_nodes: bool,
}

/// The actor of single calls.
pub struct SingleCallsActor;

/// State of the actor.
pub struct SingleCallsState {
    with: SingleCallsArguments,
    /// Whether this process is registered, so that the store regards earlier ones as dead.
    ready: bool,
    draining: bool,
    counting: bool,
    count_again: bool,
    timer: Option<TaskGuard>,
}

impl Actor for SingleCallsActor {
    type Msg = SingleCallsMessage;
    type State = SingleCallsState;
    type Arguments = SingleCallsArguments;

    async fn pre_start(
        &self,
        _me: ActorRef<SingleCallsMessage>,
        arguments: SingleCallsArguments,
    ) -> Result<SingleCallsState, ActorProcessingErr> {
        Ok(SingleCallsState {
            with: arguments,
            ready: false,
            draining: false,
            counting: false,
            count_again: false,
            timer: None,
        })
    }

    async fn handle(
        &self,
        me: ActorRef<SingleCallsMessage>,
        message: SingleCallsMessage,
        state: &mut SingleCallsState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SingleCallsMessage::Place {
                account,
                new,
                ticket,
                reply,
            } => state.place(&me, (account, *new, ticket), reply),
            SingleCallsMessage::Resume => {
                state.ready = true;
                // The grants of a crashed predecessor are returned.
                let dialer = Dialer::SingleCalls;
                let requester = Requester::to(&me, SingleCallsMessage::Lines);
                let _ = state.with.lines.cast(LinesMessage::Attach { dialer, requester });
                state.look(&me);
            }
            SingleCallsMessage::Drain => {
                state.draining = true;
                state.timer = None;
                let _ = state.with.lines.cast(LinesMessage::Withdraw(Dialer::SingleCalls));
            }
            SingleCallsMessage::OtherNodes(others) => state.with.other_nodes = others,
            SingleCallsMessage::Lines(LinesNotice::Granted(lines)) => state.lines_granted(&me, lines),
            SingleCallsMessage::Lines(LinesNotice::CallEnded { .. })
            | SingleCallsMessage::LinesRestarted
            | SingleCallsMessage::Look => state.look(&me),
            // Single calls have no list of live calls, and each call waits for its turn or its own next try.
            SingleCallsMessage::Lines(
                LinesNotice::NoLineFree { .. } | LinesNotice::MetObstacle(_) | LinesNotice::Attached(_),
            ) => {}
            SingleCallsMessage::Counted(waiting) => state.counted(&me, waiting),
            SingleCallsMessage::Claimed { lines, claimed } => state.claimed(&me, lines, claimed),
        }
        Ok(())
    }
}

impl SingleCallsState {
    fn dials(&self) -> bool {
        self.ready && !self.draining
    }

    fn place(
        &self,
        me: &ActorRef<SingleCallsMessage>,
        (account, new, ticket): (AccountId, NewCall, Option<KeyTicket>),
        reply: PlaceReply,
    ) {
        let refusal = match (self.draining && !self.with.other_nodes, self.ready) {
            (true, _) => Some("the service is shutting down"),
            (false, false) => Some("the service is starting"),
            (false, true) => None,
        };
        if let Some(refusal) = refusal {
            let _ = reply.send(Err(PlaceError::Refused(refusal)));
            return;
        }
        let (me, store) = (me.clone(), Arc::clone(&self.with.ports.store));
        tokio::spawn(async move {
            let queued = contained(async move { store.create_call(account, new, ticket.as_ref()).await }).await;
            let _ = reply.send(queued.map_err(PlaceError::from));
            let _ = me.cast(SingleCallsMessage::Look);
        });
    }

    /// Counts the waiting calls.
    fn look(&mut self, me: &ActorRef<SingleCallsMessage>) {
        if !self.dials() {
            return;
        }
        if self.counting {
            self.count_again = true;
            return;
        }
        self.counting = true;
        let (me, store) = (me.clone(), Arc::clone(&self.with.ports.store));
        tokio::spawn(async move {
            let waiting = contained(async move { count(&*store).await }).await;
            let _ = me.cast(SingleCallsMessage::Counted(waiting));
        });
    }

    fn counted(&mut self, me: &ActorRef<SingleCallsMessage>, waiting: StoreResult<WaitingCalls>) {
        self.counting = false;
        if !self.dials() {
            return;
        }
        let pause = match waiting {
            Ok(waiting) => {
                self.request_lines(me, usize::try_from(waiting.due).unwrap_or(0));
                let now = self.with.ports.clock.now();
                let until_next = waiting.next_due.map_or(LOOK_EVERY, |due| due.since(now));
                match waiting.due {
                    0 => until_next.clamp(LOOK_SOON, LOOK_EVERY),
                    _ => LOOK_SOON,
                }
            }
            Err(error) => {
                tracing::warn!(%error, "counting waiting calls failed, trying again");
                LOOK_SOON
            }
        };
        self.wake(me, pause);
        if std::mem::take(&mut self.count_again) {
            self.look(me);
        }
    }

    fn wake(&mut self, me: &ActorRef<SingleCallsMessage>, after: Duration) {
        let me = me.clone();
        self.timer = Some(TaskGuard::spawn(async move {
            tokio::time::sleep(after).await;
            let _ = me.cast(SingleCallsMessage::Look);
        }));
    }

    /// Requests as many lines as calls wait. A pool that is being restarted is asked at the next look.
    fn request_lines(&self, me: &ActorRef<SingleCallsMessage>, want: usize) {
        let _ = self.with.lines.cast(LinesMessage::RequestLines {
            dialer: Dialer::SingleCalls,
            want,
            requester: Requester::to(me, SingleCallsMessage::Lines),
        });
    }

    fn return_lines(&self, lines: usize) {
        if lines > 0 {
            let dialer = Dialer::SingleCalls;
            let _ = self.with.lines.cast(LinesMessage::ReturnLines { dialer, lines });
        }
    }

    fn lines_granted(&mut self, me: &ActorRef<SingleCallsMessage>, lines: usize) {
        if !self.dials() {
            self.return_lines(lines);
            return;
        }
        let (me, ports, node) = (me.clone(), self.with.ports.clone(), self.with.node);
        // Not bound to this actor: a claim must find its way back to the queue even if the actor is gone.
        tokio::spawn(async move {
            let claimed = contained(claim(ports, node, lines)).await;
            let _ = me.cast(SingleCallsMessage::Claimed { lines, claimed });
        });
    }

    fn claimed(&mut self, me: &ActorRef<SingleCallsMessage>, lines: usize, claimed: StoreResult<ReadyCalls>) {
        let dialed = match claimed {
            Ok(ready) if self.dials() => self.dial(ready),
            // Claims that come too late are released when they are dropped.
            Ok(_) => 0,
            Err(error) => {
                tracing::warn!(%error, "claiming waiting calls failed, trying again");
                self.return_lines(lines);
                self.wake(me, LOOK_SOON);
                return;
            }
        };
        self.return_lines(lines.saturating_sub(dialed));
        self.look(me);
    }

    /// Hands claimed calls over. Returns how many were taken.
    fn dial(&self, ready: ReadyCalls) -> usize {
        let ReadyCalls { mut held, agents } = ready;
        let mut dialed = 0;
        while let Some(attempt) = held.take() {
            let carriers = &self.with.ports.carriers;
            let agent = agents.get(&attempt.agent);
            let line = agent.and_then(|(agent, _)| line(agent, carriers).ok());
            let (Some((agent, version)), Some(line)) = (agent, line) else {
                held.put_back(attempt);
                break;
            };
            let context = PlanContext {
                agent: Arc::clone(agent),
                agent_version: Some(*version),
                ring_timeout: self.with.ring_timeout,
                now: self.with.ports.clock.now(),
            };
            let call = plan(attempt.clone(), line, &context);
            if self.with.lines.cast(LinesMessage::Dial(Box::new(call))).is_err() {
                held.put_back(attempt);
                break;
            }
            dialed += 1;
        }
        dialed
    }
}

/// Counts the waiting calls, after ending those that waited too long.
async fn count(store: &dyn Store) -> StoreResult<WaitingCalls> {
    let waiting = store.waiting_calls().await?;
    if waiting.expired > 0 {
        let ended = store.expire_calls().await?;
        tracing::warn!(ended, "calls expired in the queue");
    }
    Ok(waiting)
}

/// Claims calls for `lines` lines and reads their agents afresh. Calls whose agent can no longer dial end
/// `failed`. Calls that cannot be placed now, because providers are down or a setting is missing, keep waiting.
async fn claim(ports: Ports, node: NodeId, lines: usize) -> StoreResult<ReadyCalls> {
    let store = Arc::clone(&ports.store);
    let limit = i64::try_from(lines).unwrap_or(i64::MAX);
    let claimed = store.claim_calls(node, limit).await?;
    let mut held = HeldClaims::new(claimed, Arc::clone(&store));
    let (mut agents, mut obstacles) = (HashMap::new(), HashMap::<AgentId, Option<String>>::new());
    for _ in 0..held.len() {
        let Some(attempt) = held.take() else { break };
        let (agent, _) = match agents.entry(attempt.agent) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => match read_agent(&*store, &attempt).await {
                Ok(Ok((agent, version))) => place.insert((Arc::new(agent), version)),
                Ok(Err(why)) => {
                    give_up(&*store, &mut held, attempt, &why).await?;
                    continue;
                }
                Err(error) => {
                    held.put_back(attempt);
                    return Err(error);
                }
            },
        };
        // A call that overrides the model or the voice may find other providers available.
        let obstacle = match overridden(agent, &attempt) {
            Some((own, _)) => ports.obstacle(&own),
            None => obstacles
                .entry(attempt.agent)
                .or_insert_with(|| ports.obstacle(agent))
                .clone(),
        };
        match (obstacle, line(agent, &ports.carriers)) {
            (Some(why), _) => put_off(&*store, &mut held, attempt, &why).await?,
            (None, Err(none)) => give_up(&*store, &mut held, attempt, &none.to_string()).await?,
            (None, Ok(_)) => held.put_back(attempt),
        }
    }
    Ok(ReadyCalls { held, agents })
}

/// Ends a call that can never be made with its agent.
async fn give_up(store: &dyn Store, held: &mut HeldClaims, attempt: ClaimedAttempt, why: &str) -> StoreResult<()> {
    let outcome = EndReason::agent(why).outcome(false, Default::default());
    let finished = store.finish(attempt.claim, outcome, None).await;
    if let Err(error) = &finished {
        tracing::warn!(attempt = %attempt.claim.attempt, %error, "writing the outcome failed, trying again later");
        held.put_back(attempt);
    }
    finished
}

/// Puts off a call that cannot be held now.
async fn put_off(store: &dyn Store, held: &mut HeldClaims, attempt: ClaimedAttempt, why: &str) -> StoreResult<()> {
    let after_ms = i64::try_from(LOOK_EVERY.as_millis()).unwrap_or(i64::MAX);
    match store.not_sent(attempt.claim, after_ms, Some(why.to_owned())).await {
        Ok(()) | Err(StoreError::Fenced) => Ok(()),
        Err(error) => {
            held.put_back(attempt);
            Err(error)
        }
    }
}

/// Returns the agent with its version, or the reason why the call cannot be made with it.
async fn read_agent(store: &dyn Store, attempt: &ClaimedAttempt) -> StoreResult<Result<(Agent, i64), String>> {
    match agent_for_calls(store, attempt.account, attempt.agent).await {
        Ok(row) => Ok(agent::complete(&row.document)
            .map(|agent| (agent, row.version))
            .map_err(|error| format!("agent cannot be read: {error}"))),
        Err(StoreError::NotFound) => Ok(Err("the agent does not exist any more".into())),
        Err(StoreError::Damaged(error)) => Ok(Err(format!("agent cannot be read: {error}"))),
        Err(error) => Err(error),
    }
}
