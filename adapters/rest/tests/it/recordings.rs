//! Tests of `GET /conversations/{id}/recording`: the file, ranges of it, and reasons why there is none.

use std::path::PathBuf;

use domain::{
    id::{AttemptId, NodeId},
    ports::{recordings::Recordings, store::CallStore},
};
use reqwest::{Response, header::HeaderMap};
use rest::server::ServerLimits;
use serde_json::json;
use storage::recordings::WavRecordings;

use support::{
    app::{TestApp, serve_router, state},
    client::{Client, send},
    switchboard::FakeNode,
};

/// A finished conversation with a recording.
struct Recorded {
    app: TestApp,
    client: Client,
    id: AttemptId,
    wav: Vec<u8>,
    file: PathBuf,
    _dir: tempfile::TempDir,
    _shutdown: tokio::sync::oneshot::Sender<()>,
}

impl Recorded {
    async fn of(samples: usize) -> Self {
        let app = TestApp::start().await;
        let dir = tempfile::tempdir().unwrap();
        let rest_state = rest::RestState {
            recordings_dir: dir.path().to_owned(),
            ..state(app.store.clone(), &FakeNode::default()).await
        };
        let routes = rest::with_envelope(rest::routes(rest_state));
        let (address, shutdown, _) = serve_router(routes, ServerLimits::default()).await;
        let client = Client::new(&format!("http://{address}"), &app.client.key);
        let agent = app.agent().await;
        let call = json!({ "agentId": agent, "phoneNumber": "+15550100010" });
        let made = client.post("/public/v1/calls", call).await.expect(201);
        let id: AttemptId = made.text("/data/conversationId").parse().unwrap();
        let recordings = WavRecordings::new(dir.path().to_owned()).unwrap();
        let mut sink = recordings.open(id, 8_000).unwrap();
        let pair = |n: usize| [i16::try_from(n % 30_000).unwrap(), -7];
        (0..samples).step_by(4_000).for_each(|n| {
            sink.write((n..samples.min(n + 4_000)).flat_map(pair).collect());
        });
        drop(sink);
        drop(recordings);
        let file = dir.path().join(format!("{id}.wav"));
        Self {
            app,
            client,
            id,
            wav: std::fs::read(&file).unwrap(),
            file,
            _dir: dir,
            _shutdown: shutdown,
        }
    }

    async fn over(samples: usize) -> Self {
        let recorded = Self::of(samples).await;
        let account = recorded.app.account.id;
        recorded.app.store.cancel_queued(account, recorded.id).await.unwrap();
        recorded
    }

    fn path(&self) -> String {
        format!("/public/v1/conversations/{}/recording", self.id)
    }

    async fn read(&self, method: &str, headers: &[(&'static str, &str)]) -> Response {
        let request = self.client.request(method, &self.path());
        let request = headers
            .iter()
            .fold(request, |request, (name, value)| request.header(*name, *value));
        request.send().await.unwrap()
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_recording_is_a_stereo_wav_file() {
    // More than one read.
    let recorded = Recorded::over(50_000).await;
    let answer = recorded.read("GET", &[]).await;
    assert_eq!(answer.status(), 200);
    let headers = answer.headers().clone();
    assert_eq!(text(&headers, "content-type"), "audio/wav");
    assert_eq!(text(&headers, "content-length"), recorded.wav.len().to_string());
    assert_eq!(text(&headers, "accept-ranges"), "bytes");
    let name = format!("attachment; filename=\"{}.wav\"", recorded.id);
    assert_eq!(text(&headers, "content-disposition"), name);
    assert!(headers.contains_key("x-request-id"));
    let bytes = answer.bytes().await.unwrap();
    assert_eq!(bytes, recorded.wav);
    let reader = hound::WavReader::new(&bytes[..]).unwrap();
    assert_eq!((reader.spec().channels, reader.duration()), (2, 50_000));
    let head = recorded.read("HEAD", &[]).await;
    assert_eq!(head.status(), 200);
    assert_eq!(text(head.headers(), "content-length"), recorded.wav.len().to_string());
    assert!(head.bytes().await.unwrap().is_empty());
}

#[tokio::test]
async fn ranges_of_a_recording_are_given() {
    let recorded = Recorded::over(50_000).await;
    let whole = recorded.wav.len();
    for (range, from, until) in [
        ("bytes=0-43", 0, 44),
        ("bytes=100000-", 100_000, whole),
        ("bytes=-1", whole - 1, whole),
        ("bytes=10-99999999", 10, whole),
    ] {
        let answer = recorded.read("GET", &[("range", range)]).await;
        assert_eq!(answer.status(), 206, "{range}");
        let place = format!("bytes {from}-{}/{whole}", until - 1);
        assert_eq!(text(answer.headers(), "content-range"), place);
        assert_eq!(text(answer.headers(), "content-length"), (until - from).to_string());
        assert_eq!(answer.bytes().await.unwrap(), recorded.wav[from..until], "{range}");
    }
    let tag = text(recorded.read("HEAD", &[]).await.headers(), "etag").to_owned();
    let same = [("range", "bytes=0-1"), ("if-range", tag.as_str())];
    assert_eq!(recorded.read("GET", &same).await.status(), 206);
    let other = [("range", "bytes=0-1"), ("if-range", "\"x\"")];
    assert_eq!(recorded.read("GET", &other).await.status(), 200);
    let beyond = recorded
        .client
        .request("GET", &recorded.path())
        .header("range", "bytes=999999-");
    let refused = send(beyond).await.expect(416);
    assert_eq!(refused.code(), "invalid_request");
    assert_eq!(text(&refused.headers, "content-range"), format!("bytes */{whole}"));
}

#[tokio::test]
async fn the_peaks_of_a_recording_follow_both_channels() {
    // Two and a half seconds: the user ever louder, the agent at 7.
    let recorded = Recorded::over(20_000).await;
    let path = format!("{}/peaks", recorded.path());
    let shown = recorded.client.get(&format!("{path}?points=10")).await.expect(200);
    let loudest: Vec<u16> = (1..=10_u16).map(|span| (span * 2_000 - 1) / 128).collect();
    assert_eq!(
        shown.data(),
        &json!({ "durationMs": 2_500, "user": loudest, "agent": vec![0; 10] })
    );
    let finest = recorded.client.get(&format!("{path}?points=5000")).await.expect(200);
    assert_eq!(finest.data()["user"].as_array().unwrap().len(), 5_000);
    let usual = recorded.client.get(&path).await.expect(200);
    assert_eq!(usual.data()["user"].as_array().unwrap().len(), 1_000);
    for points in ["9", "5001", "x", "-1"] {
        let refused = recorded.client.get(&format!("{path}?points={points}")).await;
        assert_eq!(refused.expect(400).fields(), [("points", "invalid_value")]);
    }
    let stranger = recorded.app.stranger().await;
    let stranger = Client::new(&recorded.client.base, &stranger.key);
    stranger.get(&path).await.expect(404);

    std::fs::write(&recorded.file, b"RIFF").unwrap();
    recorded.client.get(&path).await.expect(500);
    std::fs::remove_file(&recorded.file).unwrap();
    recorded.client.get(&path).await.expect(404);
}

#[tokio::test]
async fn there_is_no_recording_before_the_end_nor_where_none_was_made() {
    let recorded = Recorded::of(10).await;
    let early = recorded.client.get(&recorded.path()).await.expect(404);
    assert!(early.text("/error/message").contains("not over"), "{}", early.body);
    recorded
        .app
        .store
        .cancel_queued(recorded.app.account.id, recorded.id)
        .await
        .unwrap();
    assert_eq!(recorded.read("GET", &[]).await.status(), 200);

    let stranger = recorded.app.stranger().await;
    let stranger = Client::new(&recorded.client.base, &stranger.key);
    stranger.get(&recorded.path()).await.expect(404);
    let unknown = format!("/public/v1/conversations/{}/recording", AttemptId::new());
    recorded.client.get(&unknown).await.expect(404);
    send(recorded.client.bare("GET", &recorded.path())).await.expect(401);
    recorded
        .client
        .get(&format!("{}?x=1", recorded.path()))
        .await
        .expect(400);

    std::fs::rename(&recorded.file, recorded.file.with_extension("wav.part")).unwrap();
    let none = recorded.client.get(&recorded.path()).await.expect(404);
    assert!(none.text("/error/message").contains("recordVoice"), "{}", none.body);
    assert!(
        recorded
            .app
            .store
            .claim_calls(NodeId::new(), 1)
            .await
            .unwrap()
            .is_empty()
    );
}
