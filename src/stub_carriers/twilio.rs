//! Twilio, and SignalWire in Twilio's words: the API of calls, signed status callbacks, and signed media sockets.

mod api;
mod call;
mod form;

use std::{io, net::SocketAddr, sync::Arc};

use axum::{
    Json,
    extract::{Path, State, ws::WebSocketUpgrade},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
    serve::ListenerExt,
};
use reqwest::Client;
use tokio::{net::TcpListener, task::JoinSet};

use self::call::{Calls, Stage};
use super::{
    Delivered, Dial, Journal, StubCarrierSettings, bridge,
    delivery::Callbacks,
    locked,
    phones::{Phones, Progress, Report},
};
use crate::{carriers::twilio::account::Flavour, exchange::LogEntry, http_client};

/// The account a stub has.
pub const ACCOUNT: &str = "AC00000000000000000000000000000001";
/// Its auth token, and what Twilio signs with.
pub const TOKEN: &str = "stub-auth-token";
/// What SignalWire signs with.
pub const SIGNING_KEY: &str = "PSK_stub";

/// What the routes share.
struct Stub {
    flavour: Flavour,
    here: String,
    callbacks: Callbacks,
    journal: Journal,
    phones: Phones,
    client: Client,
    calls: Calls,
}

impl Stub {
    fn key(&self) -> &'static str {
        match self.flavour {
            Flavour::Twilio => TOKEN,
            Flavour::SignalWire => SIGNING_KEY,
        }
    }

    fn signature_header(&self) -> &'static str {
        match self.flavour {
            Flavour::Twilio => "x-twilio-signature",
            Flavour::SignalWire => "x-signalwire-signature",
        }
    }
}

/// A running stub. It ends when this is dropped.
pub struct TwilioStub {
    stub: Arc<Stub>,
    _tasks: JoinSet<()>,
}

impl TwilioStub {
    /// Starts one.
    ///
    /// # Errors
    ///
    /// When the address cannot be served.
    pub async fn start(flavour: Flavour, settings: StubCarrierSettings) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.listen).await?;
        let address: SocketAddr = listener.local_addr()?;
        let stub = Arc::new(Stub {
            flavour,
            here: format!("http://{address}"),
            callbacks: settings.callbacks,
            journal: Journal::new(settings.dials),
            phones: Phones::start(settings.clock.clone(), settings.personas, settings.scripts).await?,
            client: http_client::builder().build().map_err(io::Error::other)?,
            calls: Calls::new(settings.clock),
        });
        let router = api::routes(flavour)
            .route("/phones/{key}/status", post(reported))
            .route("/phones/{key}/media", get(media))
            .with_state(stub.clone());
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "stub carrier ended");
            }
        });
        Ok(Self { stub, _tasks: tasks })
    }

    /// Where its API is.
    pub fn url(&self) -> String {
        self.stub.here.clone()
    }

    /// Every dial that came in.
    pub fn dials(&self) -> Vec<Dial> {
        locked(&self.stub.journal.dials).clone()
    }

    /// Every callback that was delivered.
    pub fn delivered(&self) -> Vec<Delivered> {
        locked(&self.stub.journal.delivered).clone()
    }

    /// What the phones have on record.
    pub fn entries(&self) -> Vec<LogEntry> {
        self.stub.phones.entries()
    }

    /// Calls that ring or talk.
    pub fn live_calls(&self) -> usize {
        self.stub.phones.live_calls()
    }

    /// How each call stands, in the carrier's words, oldest first.
    pub fn statuses(&self) -> Vec<&'static str> {
        self.stub.calls.all().iter().map(|call| call.stage().status()).collect()
    }

    /// What each call is called, oldest first.
    pub fn sids(&self) -> Vec<String> {
        self.stub.calls.all().iter().map(|call| call.sid().to_owned()).collect()
    }

    /// What the header of a request to `address` with this form must hold.
    pub fn signature(&self, address: &str, form: &[(&str, &str)]) -> (&'static str, String) {
        let form = form
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        (
            self.stub.signature_header(),
            form::sign(self.stub.key(), address, &form.collect()),
        )
    }
}

/// A phone's line has something to report.
async fn reported(State(stub): State<Arc<Stub>>, Path(key): Path<String>, Json(report): Json<Report>) -> StatusCode {
    let Some(call) = stub.calls.get(&key) else {
        return StatusCode::NOT_FOUND;
    };
    call.becomes(match report.progress {
        Progress::Ringing => Stage::Ringing,
        Progress::Answered => Stage::InProgress,
        Progress::Ended { cause } => Stage::ended(&cause),
    });
    StatusCode::NO_CONTENT
}

/// A phone that was picked up wants to talk to the service.
async fn media(State(stub): State<Arc<Stub>>, Path(key): Path<String>, phone: WebSocketUpgrade) -> Response {
    let Some(call) = stub.calls.get(&key) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let signature = form::sign(stub.key(), &call.dial.stream_url, &Default::default());
    let bearer = call.token.as_ref().map(|token| format!("Bearer {token}"));
    let header = match &bearer {
        Some(bearer) => ("authorization", bearer.as_str()),
        None => (stub.signature_header(), signature.as_str()),
    };
    match bridge::open(&call.dial.stream_url, header).await {
        Ok(service) => phone.on_upgrade(move |phone| bridge::join(phone, service)),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}
