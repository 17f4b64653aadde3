//! Finds the node that holds a call, and forwards requests that reached the wrong node.
//!
//! A proxy in front of the nodes sends carriers' callbacks and media sockets, and clients' commands, to any
//! node. If the call of a request is not on this node, the endpoint looks up its owner ([`Peers::holder`])
//! and answers with [`Elsewhere`]. The middleware around all endpoints ([`layer`]) then forwards the whole
//! request, signed ([`proof`]), and returns the owner's answer. A forwarded request is never forwarded again.
//! A node that has a database of its own has no peers.

pub mod directory;
pub mod layer;
mod owner_cache;
mod pass;
mod paths;
mod present;
pub mod proof;
mod relay;
pub mod routes;

use std::{sync::Arc, time::Duration};

use actors::call::{CallCommand, CommandAnswer};
use axum::{
    Json,
    http::{Method, StatusCode, header},
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

/// Lookups at once; beyond this limit, requests are answered with "try again".
const MOST_LOOKUPS: usize = 64;
/// The same limit for requests without a carrier's signature, whose proof can only be checked after the
/// lookup. It is separate so that strangers delay only each other and never a signed callback.
const MOST_LOOKUPS_OF_STRANGERS: usize = 64;
/// Requests forwarded at once.
const MOST_REQUESTS: usize = 256;
/// Sockets forwarded at once.
const MOST_SOCKETS: usize = 4_096;
/// Sockets and event streams of clients that follow calls, forwarded at once.
const MOST_FOLLOWERS: usize = 1_024;
/// Time limit for an owner lookup in the store; carriers wait 5 s for their answer.
const LOOKED_UP_WITHIN: Duration = Duration::from_secs(1);
/// Usual time limit for another node's answer; carriers wait 5 s.
const ANSWERED_WITHIN: Duration = Duration::from_millis(4_500);
/// The same limit if somebody waits on the line and this node can take over the call.
const IN_HASTE: Duration = Duration::from_secs(2);
/// Time limit for connecting to another node, which is close by or gone.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
/// Time after which an idle connection is closed; shorter than the other side's limit.
const IDLE_WITHIN: Duration = Duration::from_secs(5);
/// Interval at which a drain checks whether the last socket has ended.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Pauses before each attempt to tell another node something.
const AGAIN_AFTER: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// The other nodes; empty if this node has its database to itself. Clones share what they have cached.
#[derive(Clone, Default)]
pub struct Peers(Option<Arc<Others>>);

/// Settings for finding the other nodes.
pub struct PeersSettings {
    /// Id of this node.
    pub me: NodeId,
    /// Base URL at which other nodes reach this one.
    pub address: Option<String>,
    /// Looks up who holds an attempt.
    pub directory: Arc<dyn Directory>,
    /// Clock that dates requests to other nodes and tells the age of theirs.
    pub clock: Arc<dyn Clock>,
}

/// Proof in a URL or a body that the sender may act for the attempt it names.
#[derive(Debug, Clone, Copy)]
pub enum Shown<'a> {
    /// The proof in the URL, made for this purpose; the carrier also signed the request.
    Proof(Purpose, &'a str),
    /// The proof in the URL of an unsigned request; anybody may have made it up.
    Unsigned(Purpose, &'a str),
    /// The request has a secret that only the owner of the call can check; anybody may have made it up.
    Unchecked,
    /// No proof needed: the carrier's signature covers the attempt's name, or the client was authorised.
    Vouched,
}

/// Owner of the call that a request is for. A handler that answers with it has the request forwarded.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    attempt: AttemptId,
    holder: Holder,
    /// Time limit for the owner's answer.
    within: Duration,
    or_here: bool,
    follows: bool,
}

impl Elsewhere {
    /// Lets this node answer by itself if the owner does not answer soon: the handler then runs again with
    /// [`Unreached`] among the request's extensions. If forwarding fails for another reason, it runs again
    /// with [`InVain`].
    #[must_use]
    pub fn or_here(self) -> Self {
        Self {
            or_here: true,
            within: IN_HASTE,
            ..self
        }
    }

    /// Marks a request that only follows the call. Its socket or stream delays no drain, and is cut soon after one begins:
    /// the client opens it again through another node.
    #[must_use]
    pub fn follows(self) -> Self {
        Self { follows: true, ..self }
    }

    /// Gives the owner this long to answer.
    #[must_use]
    pub fn within(self, within: Duration) -> Self {
        Self { within, ..self }
    }
}

/// Request extension: the owner of the call was asked and could not be reached.
#[derive(Debug, Clone)]
pub struct Unreached(Holder);

/// Request extension: the request was forwarded in vain for another reason than an unreachable owner.
#[derive(Debug, Clone, Copy)]
pub struct InVain;

/// The owner of a call cannot be found out now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the owner of this call cannot be looked up now; send the request again")]
pub struct NotKnown;

/// Reason why another node did not answer a client's command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotTold {
    /// No other living node holds the call.
    NoHolder,
    /// The node that holds the call runs a version without the command.
    OlderVersion,
    /// The node cannot be reached, or its answer was lost.
    Lost,
}

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
    followers: Arc<Semaphore>,
    followers_closing: watch::Sender<bool>,
}

impl IntoResponse for Elsewhere {
    fn into_response(self) -> Response {
        let words = "this node does not hold the call";
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
            Self::Vouched | Self::Unchecked => true,
            Self::Proof(purpose, proof) | Self::Unsigned(purpose, proof) => {
                holder.token.as_ref().is_some_and(|token| token.verify(*purpose, proof))
            }
        }
    }
}

impl Peers {
    /// Returns the peers of a node that has its database to itself: none.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the peers of a node that shares its database.
    ///
    /// # Errors
    ///
    /// Returns an error if TLS cannot be initialised.
    pub fn among(settings: PeersSettings) -> Result<Self, reqwest::Error> {
        let client = http_client::builder()
            .redirect(reqwest::redirect::Policy::none())
            // Forwarded bodies stay unchanged.
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
            followers: Arc::new(Semaphore::new(MOST_FOLLOWERS)),
            followers_closing: watch::Sender::new(false),
        }))))
    }

    /// Returns whether other nodes may exist.
    pub fn are_possible(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the other living node that holds an attempt. Returns none if this node or nobody holds it, or
    /// if the proof does not match.
    ///
    /// # Errors
    ///
    /// Returns an error if the store does not answer.
    pub async fn holder(&self, attempt: AttemptId, shown: Shown<'_>) -> Result<Option<Elsewhere>, NotKnown> {
        match &self.0 {
            None => Ok(None),
            Some(others) => others.find(attempt, shown).await,
        }
    }

    /// Returns the attempt that belongs to this call of a carrier.
    ///
    /// # Errors
    ///
    /// Returns an error if the store does not answer.
    pub async fn attempt_of(&self, carrier: &str, call: &CarrierCallId) -> Result<Option<AttemptId>, NotKnown> {
        match &self.0 {
            None => Ok(None),
            Some(others) => {
                let asked = others.settings.directory.attempt_of_call(carrier, call);
                others.ask(asked).await
            }
        }
    }

    /// Tells the node that holds a call to end it; returns whether the node did so.
    pub async fn end(&self, attempt: AttemptId) -> bool {
        let Some(others) = &self.0 else { return false };
        let Ok(Some(elsewhere)) = others.find(attempt, Shown::Vouched).await else {
            return false;
        };
        let told = others.command(&elsewhere.holder.address, &paths::end_of(attempt)).await;
        if let Err(why) = &told {
            others.known.forget(attempt);
            let Holder { node, address, .. } = &elsewhere.holder;
            if let Some(left_out) = log_gate::opens("peers", "end") {
                tracing::warn!(%attempt, %node, address, why, left_out, "command to end a call not delivered");
            }
        }
        told.is_ok()
    }

    /// Passes a client's command on to the node that holds a call.
    ///
    /// # Errors
    ///
    /// Returns the reason why there is no answer.
    pub async fn command(&self, attempt: AttemptId, command: &CallCommand) -> Result<CommandAnswer, NotTold> {
        let others = self.0.as_ref().ok_or(NotTold::NoHolder)?;
        let found = others.find(attempt, Shown::Vouched).await;
        let elsewhere = found.map_err(|_| NotTold::Lost)?.ok_or(NotTold::NoHolder)?;
        let body = serde_json::to_vec(command).map_err(|_| NotTold::Lost)?;
        let path = paths::command_of(attempt);
        let sent = others.send(&elsewhere.holder.address, &path, body.into()).await;
        let answer = match sent {
            Ok(answer) if answer.status() == StatusCode::NOT_FOUND => Err(NotTold::OlderVersion),
            Ok(answer) if answer.status().is_success() => answer.json().await.map_err(|_| NotTold::Lost),
            Ok(_) | Err(_) => Err(NotTold::Lost),
        };
        if !matches!(answer, Ok(CommandAnswer::Done | CommandAnswer::Refused(_))) {
            others.known.forget(attempt);
        }
        answer
    }

    /// Tells a node that did not answer that its call was taken over here, in case that node is alive.
    pub fn took_over(&self, attempt: AttemptId, from: Unreached) {
        if let Some(others) = self.0.clone() {
            others.known.forget(attempt);
            tokio::spawn(others.tell(from.0.address, paths::taken_over(attempt)));
        }
    }

    /// Makes every other node drop cached speech that may contain personal data.
    pub fn forget_speech(&self) {
        let Some(others) = self.0.clone() else { return };
        tokio::spawn(async move {
            let Ok(nodes) = others.ask(others.settings.directory.others(others.settings.me)).await else {
                return tracing::warn!("command to drop erased speech not delivered to other nodes");
            };
            let own = others.settings.address.as_deref();
            for address in nodes.into_iter().filter(|address| Some(address.as_str()) != own) {
                tokio::spawn(others.clone().tell(address, paths::FORGET_SPEECH.to_owned()));
            }
        });
    }

    /// Waits until no socket is forwarded any more, at most for `grace`.
    pub async fn drain(&self, grace: Duration) {
        let Some(others) = &self.0 else { return };
        let limit = Instant::now() + grace;
        while others.sockets.available_permits() < MOST_SOCKETS && Instant::now() < limit {
            sleep(LOOK_EVERY).await;
        }
    }

    /// Cuts the forwarded sockets and streams of clients that follow calls. Waits for `notice` before, if there are any, so
    /// that a proxy no longer sends the clients here again. They do not count in [`Peers::drain`] and [`Peers::sockets`].
    pub async fn let_followers_go(&self, notice: Duration) {
        let Some(others) = &self.0 else { return };
        if others.followers.available_permits() < MOST_FOLLOWERS {
            sleep(notice).await;
        }
        others.followers_closing.send_replace(true);
    }

    /// Cuts all forwarded sockets.
    pub fn close(&self) {
        if let Some(others) = &self.0 {
            others.closing.send_replace(true);
        }
    }

    /// Returns the number of sockets that are forwarded now.
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
            within: ANSWERED_WITHIN,
            or_here: false,
            follows: false,
        };
        // A proof that does not match may belong to a newer permit than the cached one.
        if let Some(holder) = self.known.fresh(attempt).filter(|holder| shown.fits(holder)) {
            return Ok(Some(elsewhere(holder)));
        }
        let stranger = matches!(shown, Shown::Unsigned(..) | Shown::Unchecked);
        if stranger && self.known.was_in_vain(attempt) {
            return Ok(None);
        }
        let seats = if stranger { &self.strangers } else { &self.lookups };
        match Self::ask_in(seats, self.settings.directory.holder(attempt)).await {
            Ok(found) => {
                // A request for an attempt of this node may still be on its way here.
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
            // Calls continue while the database is unavailable.
            Err(not_known) => {
                let last = self.known.last(attempt).filter(|holder| shown.fits(holder));
                last.map(|holder| Some(elsewhere(holder))).ok_or(not_known)
            }
        }
    }

    /// An earlier run of this process had the same address.
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
                tracing::debug!(%error, "owner lookup failed");
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

    /// Returns the header that proves to another node that a request comes from this one.
    async fn signature(&self, method: &Method, path: &str, body: &[u8]) -> Result<String, NotKnown> {
        let key = self.key().await?;
        Ok(key.sign((method.as_str(), path, body), self.now_seconds()))
    }

    /// Sends a command without a body, a path of [`routes`], to another node.
    async fn command(&self, address: &str, path: &str) -> Result<(), String> {
        match self.send(address, path, Bytes::new()).await? {
            answer if answer.status().is_success() => Ok(()),
            answer => Err(answer.status().to_string()),
        }
    }

    /// Sends a command, a path of [`routes`], to another node.
    async fn send(&self, address: &str, path: &str, body: Bytes) -> Result<reqwest::Response, String> {
        let _slot = self.requests.try_acquire().map_err(|error| error.to_string())?;
        let signature = self.signature(&Method::POST, path, &body).await;
        let signature = signature.map_err(|error| error.to_string())?;
        let request = self.client.post(format!("{address}{path}"));
        let request = request
            .header(proof::HEADER, signature)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body);
        let sent = request.timeout(paths::DONE_WITHIN).send().await;
        sent.map_err(|error| error.without_url().to_string())
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
        tracing::warn!(address, path, why, "command to another node failed");
    }
}
