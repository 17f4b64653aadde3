//! Checks of media sockets that are lost and reopened, stall, or are cleared.

use std::time::Duration;

use serde_json::json;
use sim::stub_carriers::Stall;
use support::words::{interviewing_agent, lines, texts};

use crate::site::{Carrier, INTERRUPTS, NUMBER, Setup, Site, goes_on};

pub async fn lost_media_is_found_again_and_the_call_goes_on(of: Carrier) {
    let setup = Setup {
        cut_after: Some(300),
        ..goes_on()
    };
    check_found_again(Site::start(of, setup).await, 2).await;
}

/// Checks that a call whose first media socket is lost continues to its end, and so does its recording.
pub async fn check_found_again(site: Site, sockets: usize) {
    let mut agent = interviewing_agent();
    agent["platformSettings"]["privacy"] = json!({ "recordVoice": true });
    let over = site.over(agent, NUMBER).await;
    over.check_interviewed();
    assert_eq!(over.sockets(), sockets);
    if sockets == 2 {
        let (recorded, talked_ms) = (
            over.site.recordings.written(),
            over.site.phones().call(NUMBER).talked_ms(),
        );
        // The second part is appended to the first, in the same file.
        let [(first, before), (second, after)] = *recorded else {
            panic!("two parts of a recording, not {recorded:?}");
        };
        assert_eq!(first, second);
        let ms = (before + after) / 8;
        assert!(before > 0 && ms + 4_000 > talked_ms, "{ms} ms of {talked_ms}");
    }
    over.site.ends_tidy(1).await;
}

pub async fn media_that_stands_still_is_outlived(of: Carrier) {
    check_stall(of, 2, 1).await;
}

/// A socket is given up after 30 s of silence.
pub async fn media_that_stands_still_too_long_is_found_again(of: Carrier) {
    check_stall(of, 45, 2).await;
}

async fn check_stall(of: Carrier, seconds: u64, sockets: usize) {
    let stall = Stall {
        after_frames: 300,
        lasts: Duration::from_secs(seconds),
    };
    let mut agent = interviewing_agent();
    agent["conversationConfig"]["turn"] = json!({ "turnTimeout": 20, "silenceEndCallTimeout": 60 });
    agent["conversationConfig"]["conversation"]["maxDurationSeconds"] = json!(140);
    let site = Site::start(
        of,
        Setup {
            stall: Some(stall),
            ..goes_on()
        },
    )
    .await;
    let over = site.over(agent, NUMBER).await;
    over.check_interviewed();
    assert_eq!(over.sockets(), sockets, "{seconds} s");
    over.site.ends_tidy(1).await;
}

pub async fn an_agent_that_is_interrupted_stops_and_keeps_what_was_heard(of: Carrier) {
    let over = Site::start(of, Setup::default())
        .await
        .over(interviewing_agent(), INTERRUPTS)
        .await;
    over.check_completed();
    let phone = over.site.phones().call(INTERRUPTS);
    let heard = texts(&phone.heard());
    assert_eq!(lines(&over.conversation, "User"), texts(&phone.said()));
    assert_eq!(lines(&over.conversation, "Agent"), heard);
    let question = "So. Which day suits you for a visit?";
    let cut = |text: &String| question.starts_with(&**text) && text != question;
    assert!(heard.iter().any(cut), "what was sent ahead was dropped: {heard:?}");
    over.site.ends_tidy(1).await;
}
