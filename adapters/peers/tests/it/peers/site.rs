//! Fake nodes with real endpoints, which find each other through a register of the test.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use actors::{
    call::{CallCommand, CallMessage, CommandAnswer, LegRefusal},
    lines::LinesMessage,
    switchboard::Switchboard,
};
use async_trait::async_trait;
use axum::Router;
use carriers::{
    CarrierLink,
    kind::Account,
    plain, simulated,
    twilio::account::{Flavour, TwilioAccount},
};
use domain::{
    dial_token::{DialToken, Purpose},
    id::{AttemptId, NodeId},
    ports::{
        carrier::{CarrierCallId, InboundRefusal, LegReport, WayBack},
        media_leg::MediaLeg,
        store::{StoreError, StoreResult},
    },
    time::{Clock, TokioClock},
};
use net::key::Key;
use peers::{
    Peers, PeersSettings,
    directory::{Directory, Holder},
    proof::{PeerKey, Signed},
    routes,
};
use rest::server::{ServerLimits, serve};
use support::{app::START, fake_actor::answering_at_once};
use tokio::{net::TcpListener, task::JoinSet};

/// URL at which carriers reach the installation.
pub const PUBLIC: &str = "https://calls.example.com";
/// Token that Twilio signs with.
pub const TWILIO_TOKEN: &str = "twilio's token";
/// Secret that the nodes share.
pub const SECRET: &str = "secret of the installation";

/// Owners of attempts, in place of the nodes' database.
#[derive(Default)]
pub struct Register {
    holders: Mutex<HashMap<AttemptId, Holder>>,
    calls: Mutex<HashMap<CarrierCallId, AttemptId>>,
    nodes: Mutex<Vec<(NodeId, String)>>,
    unavailable: AtomicBool,
    lookups: AtomicUsize,
    slow: AtomicBool,
}

impl Register {
    fn answer<T>(&self, answer: T) -> StoreResult<T> {
        match self.unavailable.load(Ordering::SeqCst) {
            true => Err(StoreError::Unavailable("away".into())),
            false => Ok(answer),
        }
    }

    /// Sets the owner of an attempt.
    pub fn holds(&self, attempt: AttemptId, holder: Holder) {
        locked(&self.holders).insert(attempt, holder);
    }

    /// Adds a living node.
    pub fn lives(&self, node: NodeId, address: String) {
        locked(&self.nodes).push((node, address));
    }

    /// Removes the owner of an attempt.
    pub fn forgets(&self, attempt: AttemptId) {
        locked(&self.holders).remove(&attempt);
    }

    /// Makes the database unavailable or available again.
    pub fn is_unavailable(&self, unavailable: bool) {
        self.unavailable.store(unavailable, Ordering::SeqCst);
    }

    /// Makes owner lookups take half a second, or none.
    pub fn is_slow(&self, slow: bool) {
        self.slow.store(slow, Ordering::SeqCst);
    }

    /// Number of owner lookups so far.
    pub fn lookups(&self) -> usize {
        self.lookups.load(Ordering::SeqCst)
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl Directory for Register {
    async fn holder(&self, attempt: AttemptId) -> StoreResult<Option<Holder>> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        if self.slow.load(Ordering::SeqCst) {
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
        self.answer(locked(&self.holders).get(&attempt).cloned())
    }

    async fn attempt_of_call(&self, _: &str, call: &CarrierCallId) -> StoreResult<Option<AttemptId>> {
        self.answer(locked(&self.calls).get(call).copied())
    }

    async fn others(&self, me: NodeId) -> StoreResult<Vec<String>> {
        let nodes = locked(&self.nodes).clone();
        let others = nodes.into_iter().filter(|(node, _)| *node != me);
        self.answer(others.map(|(_, address)| address).collect())
    }

    async fn secret(&self) -> StoreResult<String> {
        self.answer(SECRET.to_owned())
    }
}

/// A call that a fake node holds.
#[derive(Debug, Clone)]
pub struct Call {
    pub attempt: AttemptId,
    pub token: DialToken,
}

impl Call {
    pub fn new() -> Self {
        Self {
            attempt: AttemptId::new(),
            token: DialToken::random(),
        }
    }

    pub fn status(&self) -> String {
        format!("{}/{}", self.attempt, self.token.proof(Purpose::Status))
    }

    pub fn media(&self) -> String {
        format!("{}.{}", self.attempt, self.token.proof(Purpose::Media))
    }
}

/// Calls a fake node holds, and the reports it received.
#[derive(Default)]
struct Desk {
    calls: HashMap<AttemptId, DialToken>,
    came_in: HashMap<CarrierCallId, Call>,
    reports: Vec<(AttemptId, LegReport)>,
    legs: Vec<MediaLeg>,
    ended: Vec<AttemptId>,
    commands: Vec<CallCommand>,
}

impl Desk {
    fn refusal(&self, attempt: AttemptId, purpose: Purpose, proof: &str) -> Result<(), LegRefusal> {
        match self.calls.get(&attempt) {
            None => Err(LegRefusal::UnknownCall),
            Some(token) if token.verify(purpose, proof) => Ok(()),
            Some(_) => Err(LegRefusal::BadProof),
        }
    }
}

impl Desk {
    fn answer(&mut self, message: LinesMessage) {
        match message {
            LinesMessage::Holds { attempt, reply } => drop(reply.send(self.calls.contains_key(&attempt))),
            LinesMessage::ToCall { attempt, message, .. } => match message {
                CallMessage::Progress { proof, report, reply } => {
                    let answer = self.refusal(attempt, Purpose::Status, &proof);
                    self.reports.push((attempt, report));
                    let _ = reply.send(answer);
                }
                CallMessage::AskMedia { proof, reply, .. } => {
                    let _ = reply.send(self.refusal(attempt, Purpose::Media, &proof));
                }
                CallMessage::Media { proof, leg, reply } => {
                    let answer = self.refusal(attempt, Purpose::Media, &proof);
                    self.legs.push(leg);
                    let _ = reply.send(answer);
                }
                _ => {}
            },
            LinesMessage::EndCall { attempt, reply } => {
                self.ended.push(attempt);
                let _ = reply.send(self.calls.contains_key(&attempt));
            }
            LinesMessage::Command {
                attempt,
                command,
                reply,
            } => {
                let answer = match self.calls.contains_key(&attempt) {
                    true if self.commands.is_empty() => CommandAnswer::Done,
                    true => CommandAnswer::Refused("the call is `closing`".into()),
                    false => CommandAnswer::NotHere,
                };
                self.commands.push(*command);
                let _ = reply.send(answer);
            }
            LinesMessage::Inbound { call, reply, .. } => {
                let taken = self.came_in.get(&call.call);
                let back = taken.map(|call| WayBack::of(call.attempt, &call.token));
                let _ = reply.send(back.ok_or(InboundRefusal::NobodyAnswers));
            }
            _ => {}
        }
    }
}

/// A fake node; its endpoints close when it is dropped.
pub struct Site {
    pub node: NodeId,
    pub address: String,
    pub peers: Peers,
    /// Number of times it was told to drop speech.
    pub forgot: Arc<AtomicUsize>,
    desk: Arc<Mutex<Desk>>,
    register: Arc<Register>,
    tasks: JoinSet<()>,
}

impl Site {
    /// Starts a node among others.
    pub async fn of(register: &Arc<Register>) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::starting_at(START));
        let node = NodeId::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let settings = PeersSettings {
            me: node,
            address: Some(address.clone()),
            directory: register.clone(),
            clock,
        };
        let peers = Peers::among(settings).unwrap();
        register.lives(node, address);
        Self::open(node, listener, peers, register.clone()).await
    }

    /// Starts a node that has its database to itself.
    pub async fn alone() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::open(NodeId::new(), listener, Peers::none(), Arc::default()).await
    }

    async fn open(node: NodeId, listener: TcpListener, peers: Peers, register: Arc<Register>) -> Self {
        let address = format!("http://{}", listener.local_addr().unwrap());
        let desk = Arc::<Mutex<Desk>>::default();
        let answers = desk.clone();
        let lines = answering_at_once(move |message| locked(&answers).answer(message)).await;
        let switchboard = Switchboard {
            lines: lines.into(),
            ..Switchboard::default()
        };
        let forgot = Arc::<AtomicUsize>::default();
        let forgets = forgot.clone();
        let own = routes::router(
            &peers,
            switchboard.clone(),
            Arc::new(move || {
                forgets.fetch_add(1, Ordering::SeqCst);
            }),
        );
        let endpoint = CarrierLink::new(switchboard).among(peers.clone());
        let carriers: [(&str, Router<CarrierLink>); 3] = [
            ("simulated", simulated::routes()),
            (plain::NAME, plain::trunk().routes),
            (
                "twilio",
                account()
                    .trunk(PUBLIC, Arc::new(TokioClock::starting_at(START)))
                    .unwrap()
                    .routes,
            ),
        ];
        let router = carriers::router(&endpoint, carriers).merge(own);
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, router, ServerLimits::default(), std::future::pending()));
        Self {
            node,
            address,
            peers,
            forgot,
            desk,
            register,
            tasks,
        }
    }

    /// Gives the node a call and registers it.
    pub fn takes(&self, call: &Call) {
        locked(&self.desk).calls.insert(call.attempt, call.token.clone());
        self.register.holds(call.attempt, self.holder(call));
    }

    /// Gives the node a call from outside with this carrier's id.
    pub fn takes_in(&self, id: &str, call: &Call) {
        let id = CarrierCallId(id.to_owned());
        self.takes(call);
        locked(&self.desk).came_in.insert(id.clone(), call.clone());
        locked(&self.register.calls).insert(id, call.attempt);
    }

    /// Takes the call from the node without telling anybody.
    pub fn loses(&self, call: &Call) {
        locked(&self.desk).calls.remove(&call.attempt);
    }

    /// Returns the register's entry for a call of this node.
    pub fn holder(&self, call: &Call) -> Holder {
        Holder {
            node: self.node,
            address: self.address.clone(),
            token: Some(call.token.clone()),
        }
    }

    pub fn reports(&self) -> Vec<(AttemptId, LegReport)> {
        locked(&self.desk).reports.clone()
    }

    pub fn legs(&self) -> usize {
        locked(&self.desk).legs.len()
    }

    /// Returns the leg that connected last.
    pub fn leg(&self) -> MediaLeg {
        locked(&self.desk).legs.pop().unwrap()
    }

    pub fn ended(&self) -> Vec<AttemptId> {
        locked(&self.desk).ended.clone()
    }

    pub fn commands(&self) -> Vec<CallCommand> {
        locked(&self.desk).commands.clone()
    }

    /// Stops the node as if its process had died.
    pub async fn dies(&mut self) {
        self.tasks.shutdown().await;
    }
}

fn account() -> TwilioAccount {
    TwilioAccount {
        flavour: Flavour::Twilio,
        base_url: "http://127.0.0.1:9".to_owned(),
        account: "AC1".to_owned(),
        user: "AC1".to_owned(),
        password: Key::new(TWILIO_TOKEN),
        signing_key: Key::new(TWILIO_TOKEN),
        shared_key: None,
        from: None,
    }
}

/// Returns the header that a node of the installation would send now.
pub fn header(request: Signed<'_>) -> String {
    PeerKey::new(SECRET).sign(request, START.0 / 1_000_000)
}
