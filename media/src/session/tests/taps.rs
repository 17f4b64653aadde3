//! Tests of what listeners get.

use super::carrier::{Bench, CARRIER};

/// A user who speaks into the agent's first speech, and a second speech later. Returns what a listener gets who comes at
/// `from_ms`, and goes at the end.
fn tapped(mut bench: Bench, from_ms: u64) -> (Vec<i16>, Bench) {
    let mut got = Vec::new();
    bench.session.allow_barge_in(true, 0);
    bench.say(1, "one two three four five six seven eight", true);
    for step in 0..400 {
        match step {
            80..105 => bench.voice(20),
            200 => {
                bench.say(2, "nine ten eleven", true);
                bench.silence(20);
            }
            _ => bench.silence(20),
        }
        if step == 100 {
            bench.session.interim("Stop", bench.now_ms);
        }
        if bench.now_ms >= from_ms {
            bench.session.start_tap();
        }
        while let Some(piece) = bench.session.take_tap() {
            assert_eq!(piece.len(), 320, "20 ms of two sides at 8 kHz");
            got.extend(piece);
        }
    }
    bench.recorded.extend(bench.session.take_recording(true));
    (got, bench)
}

fn is_loud(both: &[i16], side: usize) -> bool {
    both.chunks(2).any(|pair| pair[side].abs() > 500)
}

#[test]
fn a_listener_gets_what_is_recorded_as_it_happens() {
    for from_ms in [0, 500, 1_700, 5_000] {
        let (got, bench) = tapped(Bench::recording(), from_ms);
        assert!(bench.barged_in().is_some());
        let recorded = &bench.recorded[bench.recorded.len() - got.len()..];
        assert!(got == recorded, "from {from_ms} ms");
        assert!(
            got.len() as u64 >= (8_000 - from_ms - 40) * 16,
            "{} from {from_ms} ms",
            got.len()
        );
    }
}

#[test]
fn of_a_call_that_is_not_recorded_a_listener_misses_only_what_was_sent_ahead() {
    let (recorded, _) = tapped(Bench::recording(), 0);
    let (got, _) = tapped(Bench::new(CARRIER), 500);
    let whole = &recorded[recorded.len() - got.len()..];
    // The first speech was sent before the listener came, and ended by 2.1 s.
    let (during, after) = got.split_at(2_000 * 16);
    assert!(is_loud(whole, 1) && is_loud(after, 1));
    assert!(
        during
            .chunks(2)
            .zip(whole.chunks(2))
            .all(|(got, whole)| got[0] == whole[0])
    );
    assert!(after == &whole[2_000 * 16..], "the second speech is where it was heard");
}

#[test]
fn a_silent_line_is_silence_once_nothing_of_it_can_come_late() {
    let mut bench = Bench::new(CARRIER);
    bench.silence(100);
    bench.session.start_tap();
    bench.stall(3_000);
    bench.session.tick(bench.now_ms);
    let mut pieces = 0;
    while let Some(piece) = bench.session.take_tap() {
        assert!(piece.iter().all(|sample| *sample == 0));
        pieces += 1;
    }
    assert!((85..=90).contains(&pieces), "{pieces}");
    bench.session.stop_tap();
    bench.silence(100);
    assert_eq!(bench.session.take_tap(), None);
}
