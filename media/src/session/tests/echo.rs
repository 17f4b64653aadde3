//! Tests of echo: the agent never interrupts itself, and a user who talks over the echo is heard.

use super::phone::{Echo, Phone};
use crate::session::SessionEvent;

const GREETING: &str =
    "Good morning, this is Ann from the parcel office. Is this a good time to talk about your parcel?";

fn echoing(gain_db: f64, delay_ms: usize) -> Phone {
    let mut phone = Phone::new();
    phone.echo = Some(Echo { gain_db, delay_ms });
    phone
}

fn ignored(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::EchoIgnored { .. })
}

#[test]
fn an_echo_is_neither_a_turn_nor_an_interruption() {
    for gain_db in [-12.0, -15.0, -20.0, -26.0] {
        for delay_ms in [20, 90, 150, 300, 450] {
            for recogniser_ms in [0, 250] {
                let mut phone = echoing(gain_db, delay_ms);
                phone.delay_ms = recogniser_ms;
                phone.run(1_000);
                phone.agent(1, GREETING);
                phone.run(10_000);
                phone.agent(2, "Shall I send it again tomorrow, or would you rather fetch it?");
                phone.run(8_000);
                let case = format!("{gain_db} dB after {delay_ms} ms, words after {recogniser_ms} ms");
                assert_eq!(phone.cleared, [0u64; 0], "{case}: {:?}", phone.events);
                assert_eq!(phone.texts(), [""; 0], "{case}");
                let began = phone.count(|event| matches!(event, SessionEvent::SpeechStarted { .. }));
                let words = phone.count(|event| matches!(event, SessionEvent::Interim { .. }));
                assert_eq!((began, words), (0, 0), "{case}: {:?}", phone.events);
                assert!(gain_db < -24.0 || phone.count(ignored) == 2, "{case}");
            }
        }
    }
}

/// Mishears words: of any seven words one is wrong, two stand for another, one is left out.
fn badly(at: usize, word: &str) -> String {
    match at % 7 {
        1 => "them".to_owned(),
        3 => "choose day".to_owned(),
        6 => String::new(),
        _ => word.trim_end_matches(['.', ',', '?']).to_owned(),
    }
}

#[test]
fn an_echo_that_is_misheard_is_no_turn_and_a_user_over_it_is_one() {
    for (gain_db, delay_ms) in [(-12.0, 150), (-16.0, 150), (-16.0, 300), (-20.0, 90)] {
        let mut phone = echoing(gain_db, delay_ms);
        phone.delay_ms = 280;
        phone.mishears = badly;
        phone.run(1_000);
        phone.agent(1, GREETING);
        phone.run(12_000);
        let case = format!("{gain_db} dB after {delay_ms} ms");
        assert_eq!(phone.cleared, [0u64; 0], "{case}: {:?}", phone.events);
        assert_eq!(phone.texts(), [""; 0], "{case}");
        phone.agent(2, GREETING);
        phone.run(2_400);
        let (onset, events) = (phone.now_ms, phone.events.len());
        let length = phone.user("Stop.");
        phone.run(length + 2_000);
        assert!(phone.barged_in().is_some(), "{case}: {:?}", &phone.events[events..]);
        let cleared = phone.cleared.first().map(|at| at - onset);
        assert!(cleared.is_some_and(|ms| ms <= 280), "{cleared:?} {case}");
        assert!(
            phone.texts().last().is_some_and(|text| text.ends_with("Stop")),
            "{case}: {:?}",
            phone.texts()
        );
    }
}

#[test]
fn a_user_who_talks_over_the_own_echo_interrupts_in_time() {
    for (gain_db, delay_ms, at_ms) in [
        (-20.0, 150, 2_000),
        (-20.0, 150, 3_700),
        (-15.0, 300, 2_500),
        (-12.0, 90, 3_000),
    ] {
        let mut phone = echoing(gain_db, delay_ms);
        phone.delay_ms = 250;
        phone.run(1_000);
        phone.agent(1, GREETING);
        phone.run(at_ms);
        let onset = phone.now_ms;
        let length = phone.user("Stop, please call me tomorrow.");
        phone.run(length + 2_000);
        let case = format!("{gain_db} dB after {delay_ms} ms at {at_ms}: {:?}", phone.events);
        assert!(phone.barged_in().is_some(), "{case}");
        let cleared = phone.cleared.first().map(|at| at - onset);
        assert!(
            cleared.is_some_and(|ms| (160..=280).contains(&ms)),
            "{cleared:?} {case}"
        );
        assert_eq!(phone.texts(), ["Stop, please call me tomorrow."], "{case}");
    }
}

#[test]
fn an_answer_whose_words_come_after_its_turn_is_kept_behind_an_echo() {
    let mut phone = echoing(-20.0, 150);
    // The recogniser reports nothing by itself.
    phone.delay_ms = u64::MAX / 2;
    phone.agent(1, "Is this your first visit?");
    while phone.count(|event| matches!(event, SessionEvent::SpeakingEnded { .. })) == 0 {
        phone.run(20);
    }
    phone.run(300);
    phone.user("Yes.");
    phone.run(1_300);
    assert_eq!(phone.texts(), [""], "its voice, without words: {:?}", phone.events);
    phone.session.settled("Yes.", false, phone.now_ms);
    phone.run(1_000);
    assert_eq!(phone.texts(), ["", "Yes."], "{:?}", phone.events);
}

#[test]
fn an_answer_with_the_agents_words_right_after_an_echo_is_kept() {
    let mut phone = echoing(-20.0, 150);
    phone.delay_ms = 250;
    phone.agent(1, "Would you prefer Monday or Tuesday?");
    phone.run(3_400);
    let ended = phone
        .events
        .iter()
        .find(|(_, event)| matches!(event, SessionEvent::SpeakingEnded { .. }));
    let ended = ended.unwrap().0;
    phone.run(ended + 400 - phone.now_ms.min(ended + 400));
    phone.user("Tuesday.");
    phone.run(3_000);
    assert_eq!(phone.texts(), ["Tuesday."], "{:?}", phone.events);
}

#[test]
fn a_user_as_loud_as_the_agent_is_never_taken_for_an_echo() {
    for at_ms in [0, 60, 150, 300, 900, 2_000] {
        let mut phone = Phone::new();
        phone.run(500);
        phone.agent(1, GREETING);
        phone.run(at_ms);
        let length = phone.user_at("Hello, who is that?", -6.0);
        phone.run(length + 2_000);
        assert_eq!(phone.texts(), ["Hello, who is that?"], "{at_ms}: {:?}", phone.events);
        assert_eq!(phone.count(ignored), 0, "{at_ms}");
    }
}
