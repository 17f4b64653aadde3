//! A whole campaign by HTTP: the conversations contain exactly what the phones said and heard.

use serde_json::{Value, json};

use support::{
    phone_log::{PhoneCall, PhoneLog, Words},
    words::{GREETING, MESSAGE, collected, interviewing_agent, lines, texts, tidy},
    world::World,
};

const COOPERATIVE: &str = "+15550100010";
const INTERRUPTS: &str = "+15550100021";
const SILENT: &str = "+15550100032";
const HANGS_UP: &str = "+15550100043";
const BUSY: &str = "+15550100054";
const NO_ANSWER: &str = "+15550100065";
const VOICEMAIL: &str = "+15550100076";

const CONTACTS: [(&str, &str); 7] = [
    (COOPERATIVE, "cooperative"),
    (INTERRUPTS, "interrupts"),
    (SILENT, "silent"),
    (HANGS_UP, "hangs-up"),
    (BUSY, "busy"),
    (NO_ANSWER, "no-answer"),
    (VOICEMAIL, "voicemail"),
];

/// Most bytes that the voice says in one packet; interrupted speech is understood up to such a packet.
const PACKET_BYTES: usize = 12;

/// A campaign that is over and analysed.
struct Finished {
    world: World,
    campaign: String,
    state: Value,
    phones: PhoneLog,
}

impl Finished {
    async fn with(contacts: &[(&str, &str)]) -> Self {
        Self::of(interviewing_agent(), contacts).await
    }

    async fn of(agent: Value, contacts: &[(&str, &str)]) -> Self {
        let world = World::start().await;
        let agent = world.agent(agent).await;
        let campaign = world.launch(&agent, contacts, json!({})).await;
        let state = world.until_status(&campaign, "completed", 300).await;
        // The analysis follows the hang-up.
        world.pass(2).await;
        let phones = world.phones();
        Self {
            world,
            campaign,
            state,
            phones,
        }
    }

    async fn conversation(&self, number: &str) -> Value {
        self.world.conversation(&self.campaign, number).await
    }
}

#[tokio::test(start_paused = true)]
async fn every_outcome_is_its_personas_and_the_campaign_completes() {
    let over = Finished::with(&CONTACTS).await;
    let counts = json!({
        "pending": 0, "inProgress": 0, "completed": 5, "failed": 2, "cancelled": 0, "voicemail": 1
    });
    assert_eq!(over.state["progress"], counts);
    assert_eq!(over.state["active"], false);
    assert_eq!(over.state["startIndex"], 7);
    assert_eq!(over.phones.calls().len(), 7);
    for (number, persona) in CONTACTS {
        let conversation = over.conversation(number).await;
        let (status, error) = match persona {
            "busy" | "no-answer" => ("failed", Some(persona)),
            _ => ("completed", None),
        };
        assert_eq!(conversation["status"], status, "{conversation:#}");
        assert_eq!(conversation["errorMessage"].as_str(), error, "{conversation:#}");
        assert_eq!(conversation["voiceMailDetected"], persona == "voicemail", "{persona}");
        let phone = over.phones.call(number);
        assert_eq!(phone.persona, persona);
        check_duration(&phone, &conversation);
    }
    assert_eq!(over.world.live_calls(), 0);
}

fn check_duration(phone: &PhoneCall, conversation: &Value) {
    let seconds = conversation["conversationDuration"].as_u64().unwrap();
    let talked_ms = phone.media_opened().map_or(0, |_| phone.talked_ms());
    assert!(
        (seconds * 1_000).abs_diff(talked_ms) < 1_500,
        "{seconds} s, by the phone {talked_ms} ms: {phone:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn transcripts_are_word_for_word_what_phones_said_and_heard() {
    let over = Finished::with(&CONTACTS).await;
    for (number, persona) in CONTACTS {
        let conversation = over.conversation(number).await;
        let phone = over.phones.call(number);
        assert_eq!(lines(&conversation, "User"), texts(&phone.said()), "{persona}");
        let (spoken, heard) = (lines(&conversation, "Agent"), phone.heard());
        if persona == "hangs-up" {
            // The callee hangs up during the last words, so how much of them it heard is known to one packet.
            let (spoken, heard) = (spoken.join(" "), texts(&heard).join(" "));
            assert!(heard.starts_with(&spoken), "{heard:?} {spoken:?}");
            assert!(heard.len() - spoken.len() <= PACKET_BYTES, "{heard:?} {spoken:?}");
        } else {
            assert_eq!(spoken, texts(&heard), "{persona}");
        }
        // These two interrupt the second speech; between two sentences the rest is a whole one.
        let may_be_cut = ["interrupts", "hangs-up"].contains(&persona);
        let whole = |index: usize, words: &Words| words.whole || (may_be_cut && index == 1);
        assert!(
            heard.iter().enumerate().all(|(n, words)| whole(n, words)),
            "{persona}: {heard:?}"
        );
        if let Some((_, _, Some(figures))) = phone.ended() {
            assert_eq!((figures.gaps, figures.discarded_bytes), (0, 0), "{persona}");
            assert_eq!(figures.barge_ins_ignored, 0, "{persona}");
        }
    }
}

/// First questions, interrupted at different positions of the speech.
const QUESTIONS: [&str; 5] = [
    "So. Which day suits you for a visit?",
    "A visit: which day suits you?",
    "Well, which day suits you for a visit?",
    "I ask. Which day suits you?",
    "On which day would you like to come?",
];

#[tokio::test(start_paused = true)]
async fn of_an_interrupted_reply_exactly_what_was_heard_is_kept() {
    let mut cuts = Vec::new();
    for question in QUESTIONS {
        let mut agent = interviewing_agent();
        agent["platformSettings"]["dataCollection"]["entities"]["preferredDay"]["description"] = json!(question);
        let over = Finished::of(agent, &[(INTERRUPTS, "interrupts")]).await;
        let conversation = over.conversation(INTERRUPTS).await;
        let heard = over.phones.call(INTERRUPTS).heard();
        // It interrupts the second speech.
        let cut = tidy(&heard[1].text);
        let generated = over.world.replies.all();
        assert!(
            generated[0].starts_with(&cut) && generated[0].len() > cut.len(),
            "{generated:?}"
        );
        assert_eq!(lines(&conversation, "Agent"), texts(&heard), "{question}");
        cuts.push(cut);
        assert_eq!(
            collected(&conversation, "firstVisit"),
            Some("true"),
            "the interview goes on"
        );
    }
    assert!(cuts.iter().any(|cut| !cut.is_empty()), "{cuts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_machine_hears_the_message_after_its_beep() {
    let over = Finished::with(&[(VOICEMAIL, "voicemail")]).await;
    let phone = over.phones.call(VOICEMAIL);
    let heard = phone.heard();
    assert_eq!(texts(&heard), [MESSAGE]);
    let beeped_ms = phone.beeped_ms().unwrap();
    assert!(heard[0].from_ms >= beeped_ms, "beep until {beeped_ms} ms: {heard:?}");
    assert!(
        heard[0].from_ms <= beeped_ms + 1_000,
        "beep until {beeped_ms} ms: {heard:?}"
    );
    assert!(
        phone.talked_ms() < heard[0].to_ms + 1_000,
        "it hangs up behind its message"
    );
}

#[tokio::test(start_paused = true)]
async fn answers_are_collected_and_calls_analysed() {
    let over = Finished::with(&CONTACTS).await;
    for number in [COOPERATIVE, INTERRUPTS] {
        let conversation = over.conversation(number).await;
        let said = texts(&over.phones.call(number).said());
        let day = collected(&conversation, "preferredDay").unwrap();
        assert!(said.iter().any(|text| text.contains(day)), "{day:?} of {said:?}");
        let last = said.last().unwrap();
        let yes = last.to_lowercase().starts_with("yes");
        assert_eq!(
            collected(&conversation, "firstVisit"),
            Some(if yes { "true" } else { "false" })
        );
        let moments = conversation["keyMoments"].as_array().unwrap();
        let labels: Vec<&str> = moments.iter().map(|m| m["label"].as_str().unwrap()).collect();
        assert!(
            labels.contains(&"data_collected") && labels.contains(&"goodbye"),
            "{labels:?}"
        );
    }
    for number in [COOPERATIVE, INTERRUPTS, SILENT, HANGS_UP, VOICEMAIL] {
        let conversation = over.conversation(number).await;
        assert!(
            !conversation["summary"].as_str().unwrap().is_empty(),
            "{conversation:#}"
        );
        assert!(conversation["keyMoments"].is_array(), "{conversation:#}");
        let turns = conversation["sentiment"]["sentiment_by_turn"].as_array().unwrap();
        let scored: Vec<&str> = turns.iter().map(|turn| turn["text"].as_str().unwrap()).collect();
        let said: Vec<&str> = conversation["transcript"].as_str().unwrap().lines().collect();
        let said: Vec<&str> = said.iter().filter_map(|line| Some(line.split_once(": ")?.1)).collect();
        assert_eq!(scored, said);
    }
    for number in [BUSY, NO_ANSWER] {
        let conversation = over.conversation(number).await;
        assert!(conversation["transcript"].is_null(), "{conversation:#}");
        assert_eq!(conversation["dataCollected"]["items"], json!([]));
    }
}

#[tokio::test(start_paused = true)]
async fn the_greeting_names_the_contact() {
    let over = Finished::with(&[(COOPERATIVE, "cooperative")]).await;
    assert_eq!(texts(&over.phones.call(COOPERATIVE).heard())[0], GREETING);
}

/// Many callees give many voices and moments, so a word that is lost only rarely is lost here.
#[tokio::test(start_paused = true)]
async fn no_word_is_lost_among_many_voices() {
    let numbers: Vec<String> = (0..80).map(|n| format!("+1555020{n:04}")).collect();
    let persona = |n: usize| {
        if n.is_multiple_of(2) {
            "interrupts"
        } else {
            "cooperative"
        }
    };
    let contacts: Vec<(&str, &str)> = numbers
        .iter()
        .enumerate()
        .map(|(n, number)| (number.as_str(), persona(n)))
        .collect();
    let over = Finished::with(&contacts).await;
    let mut wrong = Vec::new();
    for (number, persona) in contacts {
        let conversation = over.conversation(number).await;
        let (written, said) = (lines(&conversation, "User"), texts(&over.phones.call(number).said()));
        if written != said {
            wrong.push((number, persona, written, said));
        }
    }
    assert!(wrong.is_empty(), "{} of 80: {wrong:#?}", wrong.len());
}
