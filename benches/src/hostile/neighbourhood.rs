//! Calls that talk while something else goes on, and numbers that the bench itself answers instead of a phone.

use std::{fmt, net::SocketAddr, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::mpsc,
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::{
    BenchError,
    calls::{
        PAUSE_MS,
        class::Mix,
        judge::{Verdict, judge},
        round::{self, class_of, ended},
    },
    processes::Process,
    site::Site,
};
use net::http_client;
use ringback::api_client::ApiClient;
use sim::{exchange::read_log, samples::Samples};

/// Prefix of the numbers that the bench answers.
const HOSTILE: &str = "+1999";
/// Prefix of those calls' ids.
const HOSTILE_CALL: &str = "CAhostile";
/// Longest wait for the dial of such a call.
const DIALED_WITHIN: Duration = Duration::from_secs(15);
/// Time for which memory is observed before and after a hostile socket.
const SETTLES: Duration = Duration::from_millis(700);
/// Steady calls: no interruption, no noise.
const MIX: Mix = Mix {
    interrupts: 0,
    noisy: 0,
    faulty: 0,
};

/// A service with its phones and calls.
pub struct Neighbourhood {
    /// Folder, phones and account.
    pub site: Site,
    /// One of the account's agents.
    pub agent: String,
    service: Process,
    api: ApiClient,
    campaigns: Vec<String>,
    hostile: mpsc::Receiver<Dialed>,
    relay: JoinHandle<()>,
    called: u32,
}

/// A call that the service placed and the bench has to answer.
pub struct Dialed {
    /// Id at the exchange.
    pub call: String,
    /// Address of the media socket.
    pub socket: String,
}

/// Results of the calls.
pub struct Talk {
    /// From the end of the caller's words to the agent's, less the pause.
    pub p95_ms: f64,
    responses: Samples,
    verdict: Verdict,
}

impl Talk {
    /// Returns whether every call ended as it should, with every word.
    pub fn is_whole(&self) -> bool {
        self.verdict.not_completed == 0 && self.verdict.wrong == [0, 0] && !self.responses.is_empty()
    }

    /// Returns the lateness of the phones' own frames, at the 99th percentile.
    pub fn phones_late_ms(&self) -> usize {
        self.verdict.frames_late_ms(0.99)
    }
}

impl fmt::Display for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "answers beyond {PAUSE_MS} ms after {} ms (p50 / p95 / p99 of {}), {} calls not completed, {} with wrong words, \
             longest gap {:.0} ms; phones' frames {} ms late (p99)",
            self.responses.summary(),
            self.responses.len(),
            self.verdict.not_completed,
            self.verdict.wrong[0] + self.verdict.wrong[1],
            self.verdict.longest_gap_ms,
            self.phones_late_ms(),
        )
    }
}

impl Neighbourhood {
    /// Starts everything and waits until every call talks. The calls last a little longer than `seconds`.
    pub async fn start(calls: u32, seconds: u32) -> Result<Self, BenchError> {
        let mut site = Site::open(&[], None).await?;
        let (relay_address, hostile, relay) = relay(site.settings.exchange).await?;
        site.settings.exchange = relay_address;
        site.settings.max_calls = calls + 4;
        site.settings.calls_per_second = f64::from(calls.max(10));
        site.settings.fixed_pause_ms = Some(PAUSE_MS);
        let (service, api) = site.serve().await?;
        // The document is generated once, on the first request.
        api.text("/public/openapi.json").await?;
        let agent = api.create_agent(listener()).await?;
        let talk = round::Talk {
            calls,
            mix: MIX,
            seconds,
            recordings: false,
            graph: false,
        };
        let campaigns = talk.launch(&api, None).await?;
        Ok(Self {
            site,
            agent,
            service,
            api,
            campaigns,
            hostile,
            relay,
            called: 0,
        })
    }

    /// Returns the largest growth of the service's memory during the attack, in MiB.
    pub async fn growth(&self, attack: impl Future<Output = Result<(), BenchError>>) -> Result<f64, BenchError> {
        sleep(SETTLES).await;
        self.service.forget_peak()?;
        let before = self.service.resident_mib()?;
        attack.await?;
        sleep(SETTLES).await;
        Ok((self.service.peak_mib()? - before).max(0.0))
    }

    /// Makes the service dial the bench.
    pub async fn hostile_call(&mut self) -> Result<Dialed, BenchError> {
        self.called += 1;
        let call = json!({ "agentId": self.agent, "phoneNumber": format!("{HOSTILE}{:07}", self.called) });
        self.api.post("/public/v1/calls", call).await?;
        let dialed = timeout(DIALED_WITHIN, self.hostile.recv()).await;
        dialed
            .ok()
            .flatten()
            .ok_or_else(|| "the service did not dial the hostile number".into())
    }

    /// Waits until the calls have ended, and judges them.
    pub async fn end(self) -> Result<Talk, BenchError> {
        let conversations = ended(&self.api, &self.campaigns).await?;
        let log = read_log(&self.site.log)?;
        self.relay.abort();
        self.service.kill().await?;
        let verdict = judge(log, &conversations, |number| class_of(number, MIX), PAUSE_MS)?;
        let mut responses = Samples::default();
        for figures in verdict.classes.values() {
            responses.join(&figures.responses_ms);
        }
        let p95_ms = responses.percentile(0.95).ok_or("no call was answered")?;
        Ok(Talk {
            p95_ms,
            responses,
            verdict,
        })
    }
}

/// Returns an agent that listens for as long as a hostile call may last.
fn listener() -> Value {
    json!({
        "name": "Listener",
        "conversationConfig": {
            "agent": {
                "prompt": { "prompt": "Ask for the caller's name.", "builtInTools": { "endCall": { "enabled": true } } },
                "greetingMessage": "Hello.",
            },
            "turn": { "silenceEndCallTimeout": 120 },
        },
    })
}

#[derive(Clone)]
struct Relay {
    phones: SocketAddr,
    http: reqwest::Client,
    hostile: mpsc::Sender<Dialed>,
}

/// Starts a relay between the service and its exchange that keeps the calls to hostile numbers.
async fn relay(phones: SocketAddr) -> Result<(SocketAddr, mpsc::Receiver<Dialed>, JoinHandle<()>), BenchError> {
    let (hostile, calls) = mpsc::channel(4);
    let relay = Relay {
        phones,
        http: http_client::builder().build()?,
        hostile,
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let router = Router::new().fallback(pass).with_state(relay);
    let serving = tokio::spawn(async move {
        let _ = axum::serve(listener, router).await;
    });
    Ok((address, calls, serving))
}

async fn pass(State(relay): State<Relay>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    if uri.path().contains(HOSTILE_CALL) {
        return StatusCode::NO_CONTENT.into_response();
    }
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let number = asked["to"].as_str().unwrap_or_default();
    if method == Method::POST && uri.path() == "/v1/calls" && number.starts_with(HOSTILE) {
        let call = format!("{HOSTILE_CALL}{}", &number[HOSTILE.len()..]);
        let answer = axum::Json(json!({ "callId": call }));
        let socket = asked["streamUrl"].as_str().unwrap_or_default().to_owned();
        let _ = relay.hostile.send(Dialed { call, socket }).await;
        return (StatusCode::CREATED, answer).into_response();
    }
    let mut request = relay
        .http
        .request(method, format!("http://{}{uri}", relay.phones))
        .body(body);
    if let Some(kind) = headers.get(header::CONTENT_TYPE) {
        request = request.header(header::CONTENT_TYPE, kind);
    }
    match request.send().await {
        Ok(answer) => {
            let (status, kind) = (answer.status(), answer.headers().get(header::CONTENT_TYPE).cloned());
            let mut passed = (status, answer.bytes().await.unwrap_or_default()).into_response();
            if let Some(kind) = kind {
                passed.headers_mut().insert(header::CONTENT_TYPE, kind);
            }
            passed
        }
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}
