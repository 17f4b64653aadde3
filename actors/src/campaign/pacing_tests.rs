//! Tests of the number of lines a campaign asks for, and of when it holds back.

use proptest::prelude::*;

use super::*;

fn pacing(most: Option<u32>, due: i64) -> Pacing {
    let mut pacing = Pacing {
        most: most.map_or(usize::MAX, |most| most as usize),
        due: 0,
        granted: 0,
        claiming: 0,
        held_until: None,
        refusals: Backoff::new(Duration::from_secs(1), Duration::from_secs(60)),
        too_late: Backoff::new(STORE_PAUSE, LONGEST_LATE_PAUSE),
        starving_since: None,
        patience: PATIENCE,
    };
    pacing.counted(&Remaining {
        due,
        ..Remaining::default()
    });
    pacing
}

#[test]
fn lines_in_use_and_underway_count_against_both_limits() {
    let now = Instant::now();
    let mut pacing = pacing(Some(5), 10);
    assert_eq!(pacing.want(0, now), 5);
    assert_eq!(pacing.want(3, now), 2);
    assert_eq!(pacing.granted(4, 3, now), 2, "two of four are of no use");
    assert_eq!(pacing.want(3, now), 0);
    assert_eq!(pacing.begin_claim(), Some(2));
    assert_eq!(pacing.begin_claim(), None, "one claim at a time");
    assert_eq!(pacing.want(3, now), 0);
    pacing.end_claim(2);
    assert_eq!(pacing.want(5, now), 0);
    assert_eq!(pacing.want(0, now), 5);
}

#[test]
fn a_claim_that_brings_less_than_asked_for_has_emptied_the_queue() {
    let now = Instant::now();
    let mut pacing = pacing(None, 10);
    assert_eq!(pacing.granted(8, 0, now), 0);
    pacing.begin_claim();
    pacing.end_claim(3);
    assert!(!pacing.due());
}

#[test]
fn a_carrier_that_takes_no_call_slows_the_campaign_down_more_and_more() {
    let mut now = Instant::now();
    let mut pacing = pacing(None, 1_000_000);
    let mut waits = Vec::new();
    for _ in 0..8 {
        pacing.call_ended(Err(NoOutcome::NotTaken), now);
        let until = pacing.held_until(now).unwrap();
        assert_eq!(pacing.want(0, now), 0);
        waits.push(until.duration_since(now).as_secs());
        now = until;
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    pacing.call_ended(Ok(()), now);
    assert!(pacing.want(0, now) > 0);
    pacing.call_ended(Err(NoOutcome::NotTaken), now);
    assert_eq!(pacing.held_until(now), Some(now + Duration::from_secs(1)));
}

#[test]
fn permits_that_come_too_late_slow_the_campaign_down_for_some_seconds() {
    let mut now = Instant::now();
    let mut pacing = pacing(None, 1_000);
    let mut waits = Vec::new();
    for _ in 0..6 {
        // A whole batch counts once.
        for _ in 0..100 {
            pacing.call_ended(Err(NoOutcome::TooLate), now);
        }
        assert_eq!(pacing.want(0, now), 0);
        let until = pacing.held_until(now).unwrap();
        waits.push(until.duration_since(now).as_secs());
        now = until;
    }
    assert_eq!(waits, [1, 2, 4, 8, 8, 8]);
    pacing.call_ended(Ok(()), now);
    pacing.call_ended(Err(NoOutcome::TooLate), now);
    assert_eq!(pacing.held_until(now), Some(now + Duration::from_secs(1)));
}

#[test]
fn attempts_that_wait_for_their_own_sake_keep_no_other_back() {
    let now = Instant::now();
    let mut pacing = pacing(None, 1_000);
    for _ in 0..1_000 {
        pacing.call_ended(Err(NoOutcome::ItsOwn), now);
    }
    assert_eq!(pacing.held_until(now), None);
    // An unavailable store is asked again each second, however long it was unavailable.
    for _ in 0..1_000 {
        pacing.call_ended(Err(NoOutcome::StoreUnavailable), now);
    }
    assert_eq!(pacing.held_until(now), Some(now + Duration::from_secs(1)));
}

proptest! {
    /// Whatever is granted and claimed, the campaign never holds more lines than it may use, and returns
    /// those it does not use.
    #[test]
    fn a_campaign_never_holds_more_than_its_limit(
        most in 0..6u32,
        due in 0..20i64,
        steps in prop::collection::vec((0..4u8, 0..8usize), 0..60),
    ) {
        let now = Instant::now();
        let mut pacing = pacing(Some(most), due);
        let (mut live, mut held) = (0usize, 0usize);
        for (step, n) in steps {
            match step {
                0 => {
                    let unused = pacing.granted(n, live, now);
                    prop_assert!(unused <= n);
                    held += n - unused;
                }
                1 => {
                    if let Some(lines) = pacing.begin_claim() {
                        let claimed = n.min(lines);
                        pacing.end_claim(claimed);
                        live += claimed;
                        held -= lines;
                    }
                }
                2 => held -= pacing.drop_grants(),
                _ => live = live.saturating_sub(n),
            }
            prop_assert!(live + held <= most as usize);
        }
        pacing.drop_grants();
        prop_assert!(pacing.want(0, now) <= most as usize);
    }
}

#[test]
fn each_delay_for_want_of_a_line_makes_it_more_patient() {
    let second = Duration::from_secs(1);
    let mut now = Instant::now();
    let mut pacing = pacing(None, 10);
    for patience_s in [3, 6, 12, 24, 48, 64, 64] {
        let until = pacing.asks(10, 0, now).unwrap();
        assert_eq!(until, now + patience_s * second);
        // A further request does not restart the time, and a line of its own ends it.
        assert_eq!(pacing.asks(5, 0, now + second), Some(until));
        assert!(!pacing.starves(until - second / 10));
        assert!(pacing.starves(until));
        pacing.delayed_for_lines();
        assert!(!pacing.starves(until));
        now = until;
    }
    pacing.restart();
    assert_eq!(pacing.asks(1, 0, now), Some(now + 3 * second));
    assert_eq!(pacing.granted(1, 0, now), 0);
    assert!(!pacing.starves(now + 60 * second));
    pacing.drop_grants();
    assert_eq!(pacing.asks(1, 1, now), None, "it dials");
    assert_eq!(pacing.asks(0, 0, now), None, "it wants none");
}
