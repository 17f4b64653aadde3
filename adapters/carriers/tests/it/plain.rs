//! Tests of calls through the plain media link, from a client that needs only a WebSocket.

mod test_calls;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use carriers::plain;
use domain::{
    agent::Agent,
    ports::analyst::{Analyst, AnalystError, Question},
};
use futures_util::{SinkExt, StreamExt};
use media::{
    babble::{Listener, ListenerEvent, Speaker, Transcript, Voice},
    codec,
    format::{Encoding, LineFormat},
    resample::Resampler,
};
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, client_async,
    tungstenite::{self, Message},
};

use support::{
    app::TestApp,
    certificate::{Pair, SelfSigned},
    client::send,
    words::{interviewing_agent, lines, tidy},
    world::{World, WorldSettings},
};

const CALLS: &str = "/public/v1/calls/inbound";
const CALLER: &str = "+15550100010";
const OURS: &str = "+15559990001";
const FRAME_MS: u64 = 20;

async fn world() -> World {
    world_with(None).await
}

async fn world_with(certificate: Option<SelfSigned>) -> World {
    let settings = WorldSettings {
        certificate,
        trunk: Some(Arc::new(|_: &str| plain::trunk())),
        ..WorldSettings::default()
    };
    World::start_with(settings).await
}

fn answering_agent() -> Value {
    let mut agent = interviewing_agent();
    agent["direction"] = json!("inbound");
    agent["phoneNumbers"] = json!([{ "number": OURS, "provider": "plain" }]);
    agent["conversationConfig"]["agent"]["greetingMessage"] = json!("Thank you for calling.");
    agent
}

/// Starts a call. Returns the conversation's id and the address of its socket.
async fn call(world: &World, body: Value) -> (String, String) {
    let made = world.client.post(CALLS, body).await.expect(201);
    (made.text("/data/conversationId"), made.text("/data/mediaUrl"))
}

/// A client that records the audio it plays, with its own queue if it declares a buffer.
struct Caller {
    socket: Socket,
    speaks: LineFormat,
    hears: LineFormat,
    buffers: bool,
    queue: VecDeque<Message>,
    to_8k: Resampler,
    listener: Listener,
    transcript: Transcript,
    /// Sentences heard.
    heard: Vec<String>,
    /// Control messages received.
    controls: Vec<Value>,
    /// Audio to say, in the line's encoding.
    voice: VecDeque<u8>,
    closed: bool,
    next: Instant,
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;
type Connected = Result<Socket, tungstenite::Error>;

async fn connect(url: &str) -> Connected {
    let host = url.trim_start_matches("ws://").split('/').next().unwrap();
    let stream = TcpStream::connect(host).await?;
    stream.set_nodelay(true)?;
    let (socket, _) = client_async(url, MaybeTlsStream::Plain(stream)).await?;
    Ok(socket)
}

async fn connect_in_tls(url: &str, trusted: &Pair) -> Connected {
    let host = url.strip_prefix("wss://").unwrap().split('/').next().unwrap();
    let stream = trusted.connect(host.parse().unwrap()).await?;
    let (socket, _) = client_async(url, MaybeTlsStream::Rustls(stream)).await?;
    Ok(socket)
}

fn line(name: &str) -> LineFormat {
    let (encoding, rate) = name.split_once('_').unwrap();
    let encoding = match encoding {
        "ulaw" => Encoding::MuLaw,
        _ => Encoding::Linear16,
    };
    LineFormat {
        encoding,
        sample_rate: rate.parse().unwrap(),
    }
}

impl Caller {
    async fn open(url: &str, format: &str, buffers: bool) -> Self {
        Self::over(connect(url).await.unwrap(), format, buffers).await
    }

    async fn over(socket: Socket, format: &str, buffers: bool) -> Self {
        let start = json!({ "event": "start", "format": format, "buffers": buffers });
        Self::begun(socket, start, (format, format)).await
    }

    /// Sends `start`, and uses these formats from then on.
    async fn begun(socket: Socket, start: Value, (speaks, hears): (&str, &str)) -> Self {
        let mut caller = Self {
            socket,
            speaks: line(speaks),
            hears: line(hears),
            buffers: start["buffers"] == true,
            queue: VecDeque::new(),
            to_8k: Resampler::new(line(hears).sample_rate, 8_000).unwrap(),
            listener: Listener::default(),
            transcript: Transcript::default(),
            heard: Vec::new(),
            controls: Vec::new(),
            voice: VecDeque::new(),
            closed: false,
            next: Instant::now(),
        };
        caller.control(start).await;
        caller
    }

    async fn control(&mut self, message: Value) {
        self.socket
            .send(Message::Text(message.to_string().into()))
            .await
            .unwrap();
    }

    fn say(&mut self, words: &str) {
        let rate = if self.speaks.sample_rate == 8_000 {
            8_000
        } else {
            16_000
        };
        let mut speaker = Speaker::new(words, Voice::named(CALLER), rate).unwrap();
        let mut line = Resampler::live(rate, self.speaks.sample_rate).unwrap();
        let (mut samples, mut bytes) = (Vec::new(), Vec::new());
        while let Some(spoken) = speaker.next_chunk(160) {
            line.process(&spoken, &mut samples);
        }
        line.flush(&mut samples);
        codec::encode(self.speaks.encoding, &samples, &mut bytes);
        self.voice.extend(bytes);
    }

    /// Sends one frame, and receives until the next is due.
    async fn frame(&mut self) {
        let length = self.speaks.bytes_for_ms(20);
        let silence = codec::silence(self.speaks.encoding);
        let frame: Vec<u8> = (0..length).map(|_| self.voice.pop_front().unwrap_or(silence)).collect();
        self.closed |= self.socket.send(Message::Binary(frame.into())).await.is_err();
        self.next += Duration::from_millis(FRAME_MS);
        while let Ok(message) = tokio::time::timeout_at(self.next, self.socket.next()).await {
            match message {
                Some(Ok(Message::Text(text))) => self.told(serde_json::from_str(&text).unwrap()),
                Some(Ok(message @ Message::Binary(_))) if self.buffers => self.queue.push_back(message),
                Some(Ok(Message::Binary(audio))) => self.hear(&audio),
                Some(Ok(Message::Close(_)) | Err(_)) | None => {
                    self.closed = true;
                    return;
                }
                Some(Ok(_)) => {}
            }
        }
        self.play().await;
    }

    fn told(&mut self, control: Value) {
        match control["event"].as_str() {
            Some("mark") => self.queue.push_back(Message::Text(control.to_string().into())),
            Some("clear") => self.queue.clear(),
            _ => {}
        }
        self.controls.push(control);
    }

    /// Plays 20 ms of the queue, and returns the marks that are due.
    async fn play(&mut self) {
        let mut left = self.hears.bytes_for_ms(20);
        while let Some(next) = self.queue.pop_front() {
            match next {
                Message::Binary(audio) if left > 0 => {
                    let now = left.min(audio.len());
                    self.hear(&audio[..now]);
                    left -= now;
                    if now < audio.len() {
                        self.queue.push_front(Message::Binary(audio.slice(now..)));
                    }
                }
                Message::Binary(_) => {
                    self.queue.push_front(next);
                    return;
                }
                mark => self.closed |= self.socket.send(mark).await.is_err(),
            }
        }
    }

    fn hear(&mut self, audio: &[u8]) {
        let (mut samples, mut narrow, mut heard) = (Vec::new(), Vec::new(), Vec::<ListenerEvent>::new());
        codec::decode(self.hears.encoding, audio, &mut samples);
        self.to_8k.process(&samples, &mut narrow);
        self.listener.push(&narrow, &mut heard);
        let ended = heard.into_iter().filter_map(|heard| self.transcript.take(heard));
        self.heard.extend(ended.map(|utterance| utterance.text));
    }

    fn has(&self, event: &str) -> bool {
        self.controls.iter().any(|control| control["event"] == event)
    }

    async fn until(&mut self, seconds: u64, what: &str, holds: impl Fn(&Self) -> bool) {
        let limit = Instant::now() + Duration::from_secs(seconds);
        while !holds(self) {
            let heard = &self.heard;
            assert!(Instant::now() < limit, "no {what} within {seconds} s: {heard:?}");
            assert!(!self.closed, "closed without {what}: {heard:?}");
            self.frame().await;
        }
    }

    async fn until_heard(&mut self, words: &str) {
        self.until(40, words, |caller| {
            caller.heard.iter().any(|sentence| sentence.contains(words))
        })
        .await;
    }
}

fn ready(input: &str, output: &str) -> Value {
    json!({ "event": "ready", "format": output, "inputFormat": input, "outputFormat": output })
}

async fn a_whole_conversation(certificate: Option<SelfSigned>, format: &str, buffers: bool) {
    let trusted = certificate.as_ref().map(|own| own.pair.clone());
    let world = world_with(certificate).await;
    let agent = world.agent(answering_agent()).await;
    let (id, url) = call(&world, json!({ "agentId": agent, "from": CALLER, "to": OURS })).await;
    let connected = match &trusted {
        Some(trusted) => connect_in_tls(&url, trusted).await,
        None => connect(&url).await,
    };
    let mut caller = Caller::over(connected.unwrap(), format, buffers).await;
    caller.until_heard("Which day").await;
    assert_eq!(caller.controls[0], ready(format, format));
    caller.say("Monday suits me.");
    caller.until_heard("first visit").await;
    caller.say("Yes.");
    caller.until(60, "end", |caller| caller.closed).await;
    let conversation = world.until_over(&id, 10).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    assert_eq!(
        (&conversation["direction"], &conversation["carrier"]),
        (&json!("inbound"), &json!("plain"))
    );
    assert_eq!(
        (&conversation["contactNumber"], &conversation["callerNumber"]),
        (&json!(CALLER), &json!(OURS))
    );
    let said = lines(&conversation, "User").join(" ");
    assert!(said.contains("Monday") && said.contains("Yes"), "{conversation:#}");
    assert_eq!(lines(&conversation, "Agent").join(" "), tidy(&caller.heard.join(" ")));
    assert_eq!(caller.has("mark"), buffers, "{:?}", caller.controls);
}

#[tokio::test(start_paused = true)]
async fn anything_that_opens_a_websocket_calls_an_agent() {
    a_whole_conversation(None, "pcm_8000", false).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_may_buffer_and_choose_a_telephones_format() {
    a_whole_conversation(None, "ulaw_8000", true).await;
    a_whole_conversation(None, "pcm_8000", true).await;
}

#[tokio::test(start_paused = true)]
async fn the_same_call_goes_through_tls() {
    a_whole_conversation(Some(SelfSigned::new()), "pcm_8000", true).await;
}

#[tokio::test(start_paused = true)]
async fn a_question_at_sixteen_thousand_samples_a_second_is_understood_word_for_word() {
    for question in ["What does a cleaning cost?", LONG_ANSWER] {
        let world = world().await;
        let agent = world.agent(answering_agent()).await;
        let (id, url) = call(&world, json!({ "agentId": agent })).await;
        let mut caller = Caller::open(&url, "pcm_16000", true).await;
        caller.until_heard("Which day").await;
        assert_eq!(caller.controls[0], ready("pcm_16000", "pcm_16000"));
        caller.say(question);
        let heard = caller.heard.len();
        caller.until(30, "answer", |caller| caller.heard.len() > heard).await;
        caller.control(json!({ "event": "stop" })).await;
        caller.socket.close(None).await.unwrap();
        let conversation = world.until_over(&id, 2).await;
        assert_eq!(lines(&conversation, "User"), [question]);
    }
}

const LONG_ANSWER: &str = "Let me see which day would be good for all of us, I think that Monday is.";

async fn a_conversation_in(start: Value, (input, output): (&str, &str)) {
    let world = world().await;
    let mut agent = answering_agent();
    agent["conversationConfig"]["asr"] = json!({ "userInputAudioFormat": "pcm_48000" });
    agent["conversationConfig"]["tts"] = json!({ "agentOutputAudioFormat": "pcm_22050" });
    let agent = world.agent(agent).await;
    let (id, url) = call(&world, json!({ "agentId": agent })).await;
    let socket = connect(&url).await.unwrap();
    let mut caller = Caller::begun(socket, start, (input, output)).await;
    caller.until_heard("Which day").await;
    assert_eq!(caller.controls[0], ready(input, output));
    caller.say(LONG_ANSWER);
    let heard = caller.heard.len();
    caller.until(30, "answer", |caller| caller.heard.len() > heard).await;
    caller.control(json!({ "event": "stop" })).await;
    let conversation = world.until_over(&id, 2).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    assert_eq!(lines(&conversation, "User"), [LONG_ANSWER], "{input} {output}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_names_no_format_speaks_and_hears_in_those_of_the_agent() {
    a_conversation_in(json!({ "event": "start" }), ("pcm_48000", "pcm_22050")).await;
    a_conversation_in(json!({ "event": "start", "buffers": true }), ("pcm_48000", "pcm_22050")).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_may_name_either_format_or_both() {
    let start = json!({ "event": "start", "inputFormat": "ulaw_8000" });
    a_conversation_in(start, ("ulaw_8000", "pcm_22050")).await;
    let start = json!({ "event": "start", "format": "pcm_24000", "outputFormat": "pcm_44100", "buffers": true });
    a_conversation_in(start, ("pcm_24000", "pcm_44100")).await;
}

#[tokio::test(start_paused = true)]
async fn a_calls_own_values_fill_the_agents_texts() {
    let world = world().await;
    let mut agent = answering_agent();
    agent["conversationConfig"]["agent"]["greetingMessage"] = json!("Hello {{name}}, how is {{city}} in {{season}}?");
    let agent = world.agent(agent).await;
    let body = json!({ "agentId": agent, "dynamicVariables": { "name": "Maria", "city": "Lisbon" } });
    let made = world.client.post(CALLS, body).await.expect(201);
    let warning = made.body["warning"].as_str().unwrap();
    assert!(
        warning.contains("{{season}}") && !warning.contains("{{name}}"),
        "{warning}"
    );
    let mut caller = Caller::open(&made.text("/data/mediaUrl"), "pcm_8000", true).await;
    caller.until_heard("Hello Maria, how is Lisbon").await;
    let wrong = json!({ "agentId": agent, "dynamicVariables": { "city": ["Lisbon"] } });
    let refused = world.client.post(CALLS, wrong).await.expect(400);
    assert_eq!(refused.fields(), [("dynamicVariables.city", "wrong_type")]);
}

/// Keeps the instructions of each question.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Analyst for Asked {
    fn is_asked(&self, _: &Agent) -> bool {
        true
    }

    async fn answer(&self, question: Question) -> Result<Value, AnalystError> {
        self.0.lock().unwrap().push(question.instructions);
        Err(AnalystError::Unavailable("only listens".into()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_calls_own_values_fill_the_question_about_it_afterwards() {
    let asked = Asked::default();
    let world = World::start_with(WorldSettings {
        trunk: Some(Arc::new(|_: &str| plain::trunk())),
        analyst: Arc::new(asked.clone()),
        ..WorldSettings::default()
    })
    .await;
    let mut agent = answering_agent();
    agent["platformSettings"]["dataCollection"]["entities"]["preferredDay"]["description"] =
        json!("Which day suits you for a visit in {{city}}?");
    let agent = world.agent(agent).await;
    let body = json!({ "agentId": agent, "dynamicVariables": { "city": "Lisbon" } });
    let (id, url) = call(&world, body).await;
    let mut caller = Caller::open(&url, "pcm_8000", true).await;
    caller.until_heard("visit in Lisbon").await;
    caller.say("Monday suits me.");
    caller.until_heard("first visit").await;
    caller.socket.close(None).await.unwrap();
    world.until_over(&id, 10).await;
    world.pass(30).await;
    let asked = asked.0.lock().unwrap().clone();
    assert!(
        asked.first().is_some_and(|text| text.contains("a visit in Lisbon?")),
        "{asked:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn who_talks_over_the_agent_has_its_words_cleared() {
    for format in ["pcm_8000", "pcm_44100"] {
        talks_over_the_agent(format).await;
    }
}

async fn talks_over_the_agent(format: &str) {
    let world = world().await;
    let mut agent = answering_agent();
    agent["conversationConfig"]["agent"]["greetingMessage"] =
        json!("Thank you for calling Greenfield Dental, where every patient is welcome at every hour of the day.");
    let agent = world.agent(agent).await;
    let (id, url) = call(&world, json!({ "agentId": agent })).await;
    let mut caller = Caller::open(&url, format, true).await;
    caller
        .until(10, "greeting", |caller| !caller.transcript.is_empty())
        .await;
    caller.say("Please stop talking now, I have a question for you.");
    caller.until(10, "clear", |caller| caller.has("clear")).await;
    let heard = caller.heard.len();
    caller
        .until(20, "answer", |caller| {
            caller.voice.is_empty() && caller.heard.len() > heard
        })
        .await;
    caller.control(json!({ "event": "stop" })).await;
    caller.socket.close(None).await.unwrap();
    let conversation = world.until_over(&id, 2).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    assert_eq!(
        (conversation.get("contactNumber"), conversation.get("callerNumber")),
        (None, None)
    );
    assert!(world.events(&id).iter().any(|(name, _)| name == "barged_in"));
}

#[tokio::test(start_paused = true)]
async fn keys_are_taken_and_closing_the_socket_ends_the_call_at_once() {
    let world = world().await;
    let agent = world.agent(answering_agent()).await;
    let (id, url) = call(&world, json!({ "agentId": agent })).await;
    let mut caller = Caller::open(&url, "pcm_16000", false).await;
    caller.until_heard("Which day").await;
    for digit in ["1", "2", "#"] {
        caller.control(json!({ "event": "digit", "digit": digit })).await;
    }
    let heard = caller.heard.len();
    caller.until(20, "answer", |caller| caller.heard.len() > heard).await;
    caller.socket.close(None).await.unwrap();
    let conversation = world.until_over(&id, 1).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    assert!(
        lines(&conversation, "User").iter().any(|said| said.contains("12")),
        "{conversation:#}"
    );
    assert_eq!(refused(connect(&url).await), 404);
}

/// Reads until the other side closes. Returns its code.
async fn closing_code(caller: &mut Caller) -> u16 {
    loop {
        match caller.socket.next().await {
            Some(Ok(Message::Close(Some(frame)))) => return frame.code.into(),
            Some(Ok(Message::Close(None))) => panic!("closed without a code"),
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_goodbye_in_words_ends_the_call_like_an_end_by_us() {
    let world = world().await;
    let agent = world.agent(answering_agent()).await;
    let (id, url) = call(&world, json!({ "agentId": agent })).await;
    let mut caller = Caller::open(&url, "pcm_16000", false).await;
    caller.until_heard("Which day").await;
    caller.control(json!({ "event": "stop" })).await;
    assert_eq!(closing_code(&mut caller).await, 1000);
    assert_eq!(world.until_over(&id, 1).await["status"], "completed");
    let (id, url) = call(&world, json!({ "agentId": agent })).await;
    let mut caller = Caller::open(&url, "pcm_16000", false).await;
    caller.until_heard("Which day").await;
    let path = format!("/public/v1/conversations/{id}/end");
    assert_eq!(world.client.post(&path, json!({})).await.status, 200);
    assert_eq!(closing_code(&mut caller).await, 1000);
    assert_eq!(world.until_over(&id, 1).await["status"], "completed");
}

#[tokio::test(start_paused = true)]
async fn audio_far_ahead_of_its_time_closes_the_socket_and_says_why() {
    let world = world().await;
    let agent = world.agent(answering_agent()).await;
    let (_, url) = call(&world, json!({ "agentId": agent })).await;
    let mut caller = Caller::open(&url, "pcm_16000", false).await;
    caller.until_heard("Which day").await;
    for _ in 0..8 {
        let second = Message::Binary(vec![0; 32_000].into());
        caller.socket.send(second).await.unwrap();
    }
    assert_eq!(closing_code(&mut caller).await, 1008);
}

/// Sends more than the socket's own buffers hold.
#[tokio::test(start_paused = true)]
async fn what_is_sent_behind_a_broken_rule_does_not_cut_off_the_reason() {
    let world = world().await;
    let agent = world.agent(answering_agent()).await;
    let (_, url) = call(&world, json!({ "agentId": agent })).await;
    let mut caller = Caller::open(&url, "pcm_16000", false).await;
    caller.until_heard("Which day").await;
    // A client that streams a file: 20 s at once, and 1008 is read after the last frame.
    for _ in 0..1_000 {
        let frame = Message::Binary(vec![0; 640].into());
        caller.socket.send(frame).await.unwrap();
    }
    assert_eq!(closing_code(&mut caller).await, 1008);
    // The same before the start.
    let (_, url) = call(&world, json!({ "agentId": agent })).await;
    let mut socket = connect(&url).await.unwrap();
    socket.send(Message::Text("{}".into())).await.unwrap();
    for _ in 0..100 {
        socket.send(Message::Binary(vec![0; 640].into())).await.unwrap();
    }
    let mut reason = None;
    while let Some(Ok(message)) = socket.next().await {
        if let Message::Close(Some(frame)) = message {
            reason = Some(u16::from(frame.code));
        }
    }
    assert_eq!(reason, Some(1007));
}

fn refused(connected: Connected) -> u16 {
    match connected {
        Err(tungstenite::Error::Http(answer)) => answer.status().as_u16(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_dies_may_be_opened_again_and_is_never_two() {
    let world = world().await;
    let agent = world.agent(answering_agent()).await;
    let (id, url) = call(&world, json!({ "agentId": agent })).await;
    let mut caller = Caller::open(&url, "pcm_16000", false).await;
    caller.until_heard("Which day").await;
    assert_eq!(refused(connect(&url).await), 409);
    let forged = format!("{}{}", &url[..url.len() - 64], "0".repeat(64));
    assert_eq!(refused(connect(&forged).await), 403);
    // The connection is lost without a close.
    drop(caller);
    sleep(Duration::from_secs(2)).await;
    let mut caller = Caller::open(&url, "pcm_8000", false).await;
    caller.until_heard("Which day").await;
    drop(caller);
    let conversation = world.until_over(&id, 12).await;
    assert_eq!(
        (&conversation["status"], &conversation["errorMessage"]),
        (&json!("failed"), &json!("media-lost")),
        "{conversation:#}"
    );
    let names: Vec<_> = world.events(&id).into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"media_back".to_owned()), "{names:?}");
}

#[tokio::test(start_paused = true)]
async fn an_address_that_nobody_opens_is_worth_nothing_after_half_a_minute() {
    let world = world().await;
    let agent = world.agent(answering_agent()).await;
    let (id, url) = call(&world, json!({ "agentId": agent })).await;
    let conversation = world.until_over(&id, 32).await;
    assert_eq!(conversation["errorMessage"], "media-lost", "{conversation:#}");
    assert_eq!(refused(connect(&url).await), 404);
}

#[tokio::test(start_paused = true)]
async fn an_account_cannot_hold_every_line_without_a_socket() {
    let world = world().await;
    let agent = world.agent(answering_agent()).await;
    let mut urls = Vec::new();
    for _ in 0..5 {
        urls.push(call(&world, json!({ "agentId": agent })).await.1);
    }
    let refused = world.client.post(CALLS, json!({ "agentId": agent })).await.expect(429);
    assert!(refused.text("/error/message").contains("`mediaUrl`"), "{refused:?}");
    let _caller = Caller::open(&urls[0], "pcm_16000", false).await;
    world.pass(1).await;
    call(&world, json!({ "agentId": agent })).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_client_must_not_send_closes_the_socket_and_says_why() {
    let world = world().await;
    let agent = world.agent(answering_agent()).await;
    for (message, code) in [
        (Message::Text(r#"{"event":"start","format":"opus"}"#.into()), 1007),
        (Message::Binary(vec![0; 640].into()), 1007),
        (Message::Text("{".into()), 1007),
    ] {
        let (_, url) = call(&world, json!({ "agentId": agent })).await;
        let mut socket = connect(&url).await.unwrap();
        socket.send(message).await.unwrap();
        let Some(Ok(Message::Close(Some(frame)))) = socket.next().await else {
            panic!("not closed")
        };
        assert_eq!(u16::from(frame.code), code, "{frame:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_asked_for_again_with_its_key_is_the_same_call() {
    let world = world().await;
    let agent = world.agent(answering_agent()).await;
    let keyed = async |key: &str, body: Value| {
        let request = world.client.request("POST", CALLS);
        send(request.header("idempotency-key", key).json(&body)).await
    };
    let body = json!({ "agentId": agent, "from": CALLER });
    let refused = json!({ "agentId": agent, "from": "1" });
    keyed("k", refused).await.expect(400);
    let first = keyed("k", body.clone()).await.expect(201);
    let again = keyed("k", body.clone()).await.expect(201);
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.data(), first.data());
    keyed("k", json!({ "agentId": agent })).await.expect(409);
    let other = keyed("another", body.clone()).await.expect(201);
    assert_ne!(other.data(), first.data());
    // The same after the call is over.
    world.until_over(&first.text("/data/conversationId"), 60).await;
    let again = keyed("k", body).await.expect(201);
    assert_eq!(again.data(), first.data());
}

#[tokio::test(start_paused = true)]
async fn only_ones_own_agents_that_take_calls_are_called() {
    let app = TestApp::start().await;
    let dials = app.agent().await;
    let answer = app.client.post(CALLS, json!({ "agentId": dials })).await.expect(400);
    assert_eq!(answer.fields(), [("agentId", "not_allowed")]);
    let answers = app.client.post("/public/v1/agents/create", answering_agent()).await;
    let answers = answers.expect(201).text("/data/agentId");
    let stranger = app.stranger().await;
    stranger.post(CALLS, json!({ "agentId": answers })).await.expect(404);
    let wrong = json!({ "agentId": answers, "to": "+15559990002" });
    let answer = app.client.post(CALLS, wrong).await.expect(400);
    assert_eq!(answer.fields(), [("to", "not_allowed")]);
    let wrong = json!({ "from": "12", "number": "1" });
    let answer = app.client.post(CALLS, wrong).await.expect(400);
    let mut fields = answer.fields();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            ("agentId", "required"),
            ("from", "invalid_phone"),
            ("number", "unknown_field")
        ]
    );
    let without_key = app.client.bare("POST", CALLS).json(&json!({ "agentId": answers }));
    assert_eq!(without_key.send().await.unwrap().status(), 401);
}

#[tokio::test(start_paused = true)]
async fn the_plain_endpoint_is_not_dialed_through() {
    let world = world().await;
    let mut agent = answering_agent();
    agent["direction"] = json!("both");
    let agent = world.agent(agent).await;
    let campaign = world.launch(&agent, &[(CALLER, "")], json!({})).await;
    // The same as for a carrier that refuses the account: it costs no contact.
    let delayed = world.until_status(&campaign, "delayed", 30).await;
    assert_eq!(delayed["progress"]["pending"], 1, "{delayed:#}");
}
