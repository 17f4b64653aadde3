//! Tests that the session feeds the machine detector with everything it needs, and reports its verdicts in order.

use super::*;

fn order(session: &mut AudioSession) -> Vec<&'static str> {
    let mut order = Vec::new();
    while let Some(event) = session.poll_event() {
        match event {
            SessionEvent::Amd(found) => order.push(found.verdict.as_str()),
            SessionEvent::UtteranceEnded(_) => order.push("turn"),
            SessionEvent::BeepEnded { .. } => order.push("beep"),
            _ => {}
        }
    }
    order
}

/// Passes a sound at `rate` in frames of 20 ms, from `now_ms` on.
fn hear(session: &mut AudioSession, samples: &[i16], rate: usize, now_ms: &mut u64) {
    for frame in samples.chunks(rate / 50) {
        let mut bytes = Vec::new();
        let encoding = if rate == 16_000 {
            Encoding::Linear16
        } else {
            Encoding::MuLaw
        };
        codec::encode(encoding, frame, &mut bytes);
        *now_ms += 20;
        session.receive(&bytes, *now_ms);
    }
}

fn tone(rate: usize, ms: usize) -> Vec<i16> {
    let sample = |n: usize| (8_000.0 * (std::f64::consts::TAU * 1_000.0 * n as f64 / rate as f64).sin()) as i16;
    (0..rate * ms / 1_000).map(sample).collect()
}

#[test]
fn a_machine_is_told_before_its_turn_and_a_person_after_it() {
    let mut session = AudioSession::new(&config(CARRIER)).unwrap();
    session.find_out_who_answered();
    let mut now_ms = 0;
    hear(&mut session, &[0; 8_000], 8_000, &mut now_ms);
    session.settled("Please leave a message.", false, now_ms);
    hear(&mut session, &[0; 8_000], 8_000, &mut now_ms);
    assert_eq!(order(&mut session), ["voicemail", "turn"]);
    session.settled("Hello, I am here.", false, now_ms);
    hear(&mut session, &[0; 8_000], 8_000, &mut now_ms);
    assert_eq!(order(&mut session), ["turn", "human"]);
}

#[test]
fn words_so_far_suffice_for_a_mailboxs() {
    let mut session = AudioSession::new(&config(CARRIER)).unwrap();
    session.find_out_who_answered();
    session.interim("leave it after the beep", 1_000);
    assert_eq!(order(&mut session), ["voicemail"]);
}

#[test]
fn a_beep_is_heard_within_100_ms_on_either_line() {
    for rate in [8_000, 16_000] {
        let mut settings = config(CARRIER);
        settings.format = LineFormat {
            encoding: if rate == 16_000 {
                Encoding::Linear16
            } else {
                Encoding::MuLaw
            },
            sample_rate: rate as u32,
        };
        let mut session = AudioSession::new(&settings).unwrap();
        session.find_out_who_answered();
        let mut now_ms = 0;
        hear(&mut session, &vec![0; rate], rate, &mut now_ms);
        session.settled("Kim and Bo, leave your name", false, now_ms);
        hear(&mut session, &tone(rate, 300), rate, &mut now_ms);
        assert_eq!(order(&mut session), [""; 0]);
        hear(&mut session, &vec![0; rate / 10], rate, &mut now_ms);
        assert_eq!(order(&mut session), ["beep"], "{rate} Hz");
    }
}

#[test]
fn a_session_that_was_not_asked_finds_nothing() {
    let mut session = AudioSession::new(&config(CARRIER)).unwrap();
    session.interim("leave it after the beep", 1_000);
    assert_eq!(order(&mut session), [""; 0]);
}
