//! The other nodes of an installation: which of them holds a call, and the way there for what came to the wrong one.
//!
//! A proxy in front sends a carrier's callbacks and media sockets, and clients' commands, to any node. The door that gets
//! one for a call that is not here looks up whose it is ([`Peers::holder`]) and answers with [`Elsewhere`]; the layer around
//! all doors ([`layer`]) then passes the whole request on, signed ([`proof`]), and gives back what is answered there. A
//! request that was passed on is never passed on again. A node that has its database to itself has no peers.

pub mod directory;
pub mod layer;
mod owner_cache;
mod pass;
pub mod proof;
mod relay;
pub mod routes;

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use domain::{
    dial_token::Purpose,
    id::{AttemptId, NodeId},
    ports::{carrier::CarrierCallId, store::StoreError},
    time::Clock,
};
use serde_json::json;
use tokio::{
    sync::{OnceCell, Semaphore, watch},
    time::{Instant, sleep, timeout},
};

use self::{
    directory::{Directory, Holder},
    owner_cache::OwnerCache,
    proof::PeerKey,
};
use net::{http_client, log_gate};

/// Lookups at once; beyond it whoever asks is told to come again.
const MOST_LOOKUPS: usize = 64;
/// The same for requests that nobody signed, whose proof is checked only with what is found: strangers wait for strangers,
/// and no signed callback waits for them.
const MOST_LOOKUPS_OF_STRANGERS: usize = 64;
/// Requests that are being passed on at once.
const MOST_REQUESTS: usize = 256;
/// Sockets that are passed on at once.
const MOST_SOCKETS: usize = 4_096;
/// How long the store may take to say whose a call is: carriers wait 5 s for their answer.
const LOOKED_UP_WITHIN: Duration = Duration::from_secs(1);
/// How long a node may take to accept a connection: it is next door, or gone.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
/// A connection that nobody uses is closed, earlier than the other side does it.
const IDLE_WITHIN: Duration = Duration::from_secs(5);
/// How often a drain looks whether the last socket has ended.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Pauses before a word to another node is said again that it did not hear.
const AGAIN_AFTER: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// The other nodes; none of them where the database has one node alone. Clones share what is known of them.
#[derive(Clone, Default)]
pub struct Peers(Option<Arc<Others>>);

/// What a node needs to know for finding the others.
pub struct PeersSettings {
    /// This node.
    pub me: NodeId,
    /// Where the others reach this one.
    pub address: Option<String>,
    /// Says who holds what.
    pub directory: Arc<dyn Directory>,
    /// Tells how old a request of a peer is.
    pub clock: Arc<dyn Clock>,
}

/// What an address or a body shows for the attempt that it names.
#[derive(Debug, Clone, Copy)]
pub enum Shown<'a> {
    /// The proof in the address, for this purpose; the carrier has signed the request.
    Proof(Purpose, &'a str),
    /// The same of a request that nobody signed: whoever sends it may have made it up.
    Unsigned(Purpose, &'a str),
    /// Nothing: the carrier's signature covers what names the attempt, or a client may who was checked.
    Vouched,
}

/// Whose the call is that a request is for. As the answer of a handler that did nothing yet it has the request passed on.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    attempt: AttemptId,
    holder: Holder,
    or_here: bool,
}

impl Elsewhere {
    /// The same for a request that this node answers by itself where that one does not answer soon: the handler is asked
    /// again, with [`Unreached`] among the request's extensions. Where nothing came of it for another reason, it is asked
    /// again with [`InVain`].
    #[must_use]
    pub fn or_here(self) -> Self {
        Self { or_here: true, ..self }
    }
}

/// Whoever holds the call of this request was asked, and did not answer.
#[derive(Debug, Clone)]
pub struct Unreached(Holder);

/// Whoever holds the call of this request was asked, and did not answer to the purpose.
#[derive(Debug, Clone, Copy)]
pub struct InVain;

/// Whose a call is cannot be found out now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the node cannot find out now whose call this is; send it again")]
pub struct NotKnown;

pub(crate) struct Others {
    settings: PeersSettings,
    key: OnceCell<PeerKey>,
    known: OwnerCache,
    client: reqwest::Client,
    lookups: Semaphore,
    strangers: Semaphore,
    requests: Semaphore,
    sockets: Arc<Semaphore>,
    closing: watch::Sender<bool>,
}

impl IntoResponse for Elsewhere {
    fn into_response(self) -> Response {
        let words = "the call is not held by this node";
        let mut response = refusal(StatusCode::MISDIRECTED_REQUEST, "misdirected", words);
        response.extensions_mut().insert(self);
        response
    }
}

impl IntoResponse for NotKnown {
    fn into_response(self) -> Response {
        refusal(StatusCode::SERVICE_UNAVAILABLE, "unavailable", &self.to_string())
    }
}

fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    let error = json!({ "code": code, "message": message, "status": status.as_u16() });
    (status, Json(json!({ "success": false, "error": error }))).into_response()
}

impl Shown<'_> {
    fn fits(&self, holder: &Holder) -> bool {
        match self {
            Self::Vouched => true,
            Self::Proof(purpose, proof) | Self::Unsigned(purpose, proof) => {
                holder.token.as_ref().is_some_and(|token| token.verify(*purpose, proof))
            }
        }
    }
}

impl Peers {
    /// For a node that has its database to itself.
    pub fn none() -> Self {
        Self::default()
    }

    /// For a node among others.
    ///
    /// # Errors
    ///
    /// When the system gives no TLS.
    pub fn among(settings: PeersSettings) -> Result<Self, reqwest::Error> {
        let client = http_client::builder()
            .redirect(reqwest::redirect::Policy::none())
            // What is passed on stays as it is.
            .no_gzip()
            .connect_timeout(CONNECT_WITHIN)
            .pool_idle_timeout(IDLE_WITHIN)
            .tcp_nodelay(true)
            .http1_only()
            .build()?;
        Ok(Self(Some(Arc::new(Others {
            settings,
            key: OnceCell::new(),
            known: OwnerCache::default(),
            client,
            lookups: Semaphore::new(MOST_LOOKUPS),
            strangers: Semaphore::new(MOST_LOOKUPS_OF_STRANGERS),
            requests: Semaphore::new(MOST_REQUESTS),
            sockets: Arc::new(Semaphore::new(MOST_SOCKETS)),
            closing: watch::Sender::new(false),
        }))))
    }

    /// Whether there may be any.
    pub fn are_possible(&self) -> bool {
        self.0.is_some()
    }

    /// Which other living node holds an attempt that this one does not hold; none where nobody else does, or where what
    /// is shown is no proof of it.
    ///
    /// # Errors
    ///
    /// When the store does not say.
    pub async fn holder(&self, attempt: AttemptId, shown: Shown<'_>) -> Result<Option<Elsewhere>, NotKnown> {
        match &self.0 {
            None => Ok(None),
            Some(others) => others.find(attempt, shown).await,
        }
    }

    /// The attempt that has this call of a carrier.
    ///
    /// # Errors
    ///
    /// When the store does not say.
    pub async fn attempt_of(&self, carrier: &str, call: &CarrierCallId) -> Result<Option<AttemptId>, NotKnown> {
        match &self.0 {
            None => Ok(None),
            Some(others) => {
                let asked = others.settings.directory.attempt_of_call(carrier, call);
                others.ask(asked).await
            }
        }
    }

    /// Tells the node that holds a call to end it; whether it was told.
    pub async fn end(&self, attempt: AttemptId) -> bool {
        let Some(others) = &self.0 else { return false };
        let Ok(Some(elsewhere)) = others.find(attempt, Shown::Vouched).await else {
            return false;
        };
        let told = others
            .command(&elsewhere.holder.address, &routes::end_of(attempt))
            .await;
        if let Err(why) = &told {
            others.known.forget(attempt);
            let Holder { node, address, .. } = &elsewhere.holder;
            if let Some(left_out) = log_gate::opens("peers", "end") {
                tracing::warn!(%attempt, %node, address, why, left_out, "the node that holds a call was not told to end it");
            }
        }
        told.is_ok()
    }

    /// Tells a node that did not answer, for the case that it lives, that its call was taken over here.
    pub fn took_over(&self, attempt: AttemptId, from: Unreached) {
        if let Some(others) = self.0.clone() {
            others.known.forget(attempt);
            tokio::spawn(others.tell(from.0.address, routes::taken_over(attempt)));
        }
    }

    /// Has every other node drop speech in its memory that may have something of a person in it.
    pub fn forget_speech(&self) {
        let Some(others) = self.0.clone() else { return };
        tokio::spawn(async move {
            let Ok(nodes) = others.ask(others.settings.directory.others(others.settings.me)).await else {
                return tracing::warn!("the other nodes were not told to forget an erased person's speech");
            };
            let own = others.settings.address.as_deref();
            for address in nodes.into_iter().filter(|address| Some(address.as_str()) != own) {
                tokio::spawn(others.clone().tell(address, routes::FORGET_SPEECH.to_owned()));
            }
        });
    }

    /// Waits until no socket is passed on any more, or for `grace`.
    pub async fn drain(&self, grace: Duration) {
        let Some(others) = &self.0 else { return };
        let limit = Instant::now() + grace;
        while others.sockets.available_permits() < MOST_SOCKETS && Instant::now() < limit {
            sleep(LOOK_EVERY).await;
        }
    }

    /// Cuts the sockets that are passed on.
    pub fn close(&self) {
        if let Some(others) = &self.0 {
            others.closing.send_replace(true);
        }
    }

    /// Sockets that are passed on now.
    pub fn sockets(&self) -> usize {
        let free = |others: &Arc<Others>| MOST_SOCKETS - others.sockets.available_permits();
        self.0.as_ref().map_or(0, free)
    }
}

impl Others {
    async fn find(&self, attempt: AttemptId, shown: Shown<'_>) -> Result<Option<Elsewhere>, NotKnown> {
        let elsewhere = |holder| Elsewhere {
            attempt,
            holder,
            or_here: false,
        };
        // A proof that does not fit may be of a younger permit than the one that is known.
        if let Some(holder) = self.known.fresh(attempt).filter(|holder| shown.fits(holder)) {
            return Ok(Some(elsewhere(holder)));
        }
        let stranger = matches!(shown, Shown::Unsigned(..));
        if stranger && self.known.was_in_vain(attempt) {
            return Ok(None);
        }
        let seats = if stranger { &self.strangers } else { &self.lookups };
        match Self::ask_in(seats, self.settings.directory.holder(attempt)).await {
            Ok(found) => {
                // One of this node's own may be on its way here.
                let nowhere = found
                    .as_ref()
                    .is_none_or(|holder| !self.is_me(holder) && !shown.fits(holder));
                let found = found.filter(|holder| !self.is_me(holder));
                self.known.learn(attempt, found.as_ref());
                if stranger && nowhere {
                    self.known.asked_in_vain(attempt);
                }
                Ok(found.filter(|holder| shown.fits(holder)).map(elsewhere))
            }
            // Calls go on while the database is away.
            Err(not_known) => {
                let last = self.known.last(attempt).filter(|holder| shown.fits(holder));
                last.map(|holder| Some(elsewhere(holder))).ok_or(not_known)
            }
        }
    }

    /// An earlier start of this process had its address, too.
    fn is_me(&self, holder: &Holder) -> bool {
        holder.node == self.settings.me || Some(&holder.address) == self.settings.address.as_ref()
    }

    async fn ask<T>(&self, question: impl Future<Output = Result<T, StoreError>>) -> Result<T, NotKnown> {
        Self::ask_in(&self.lookups, question).await
    }

    async fn ask_in<T>(
        seats: &Semaphore,
        question: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, NotKnown> {
        let _slot = seats.try_acquire().map_err(|_| NotKnown)?;
        match timeout(LOOKED_UP_WITHIN, question).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => {
                tracing::debug!(%error, "whose a call is cannot be looked up");
                Err(NotKnown)
            }
            Err(_) => Err(NotKnown),
        }
    }

    async fn key(&self) -> Result<&PeerKey, NotKnown> {
        let secret = || async {
            let secret = self.ask(self.settings.directory.secret()).await?;
            Ok(PeerKey::new(&secret))
        };
        self.key.get_or_try_init(secret).await
    }

    fn now_seconds(&self) -> i64 {
        self.settings.clock.now().0.div_euclid(1_000_000)
    }

    /// The header that shows another node that a request comes from here.
    async fn signature(&self, method: &Method, path: &str, body: &[u8]) -> Result<String, NotKnown> {
        let key = self.key().await?;
        Ok(key.sign((method.as_str(), path, body), self.now_seconds()))
    }

    /// Has another node do what a path of [`routes`] stands for.
    async fn command(&self, address: &str, path: &str) -> Result<(), String> {
        let _slot = self.requests.try_acquire().map_err(|error| error.to_string())?;
        let signature = self.signature(&Method::POST, path, b"").await;
        let signature = signature.map_err(|error| error.to_string())?;
        let request = self.client.post(format!("{address}{path}"));
        let request = request.header(proof::HEADER, signature).body(Bytes::new());
        match request.timeout(routes::DONE_WITHIN).send().await {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => Err(answer.status().to_string()),
            Err(error) => Err(error.without_url().to_string()),
        }
    }

    async fn tell(self: Arc<Self>, address: String, path: String) {
        let mut why = String::new();
        for pause in AGAIN_AFTER {
            sleep(pause).await;
            match self.command(&address, &path).await {
                Ok(()) => return,
                Err(error) => why = error,
            }
        }
        tracing::warn!(address, path, why, "another node was not told");
    }
}
