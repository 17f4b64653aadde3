//! Table and property tests of the accounting of lines.

use proptest::prelude::*;

use super::*;
use domain::id::CampaignId;

fn campaigns(n: usize) -> Vec<CampaignId> {
    (0..n).map(|_| CampaignId::new()).collect()
}

#[test]
fn lines_are_shared_one_by_one_and_the_rest_of_a_wish_waits() {
    let [a, b, c] = campaigns(3)[..] else { unreachable!() };
    let now = Instant::now();
    let mut pool = LinePool::new(5, 0.0);
    pool.wish(a, 10);
    pool.wish(b, 1);
    pool.wish(c, 10);
    assert_eq!(pool.grant(now), BTreeMap::from([(a, 2), (b, 1), (c, 2)]));
    assert_eq!(pool.grant(now), BTreeMap::new());
    pool.give_back(b, 1);
    assert_eq!(pool.grant(now).values().sum::<usize>(), 1);
    pool.reclaim(a);
    assert_eq!(pool.granted(), 2);
    assert_eq!(pool.grant(now), BTreeMap::from([(c, 3)]));
}

#[test]
fn a_grant_is_gone_with_the_call_that_a_drain_refuses() {
    let [a] = campaigns(1)[..] else { unreachable!() };
    let now = Instant::now();
    let mut pool = LinePool::new(2, 0.0);
    pool.wish(a, 2);
    pool.grant(now);
    pool.drain();
    assert!(!pool.start(AttemptId::new(), a, now));
    assert_eq!(pool.granted(), 1);
    assert!(!pool.start(AttemptId::new(), a, now));
    assert_eq!(pool.granted(), 0, "a drain waits for what is granted");
}

#[test]
fn a_line_is_freed_once_however_often_the_end_is_told() {
    let [a] = campaigns(1)[..] else { unreachable!() };
    let now = Instant::now();
    let mut pool = LinePool::new(2, 0.0);
    pool.wish(a, 2);
    pool.grant(now);
    let attempts = [AttemptId::new(), AttemptId::new()];
    for attempt in attempts {
        assert!(pool.start(attempt, a, now));
    }
    assert!(!pool.start(attempts[0], a, now));
    assert!(!pool.start(AttemptId::new(), a, now));
    assert_eq!(pool.end(attempts[0]), Some(a));
    assert_eq!(pool.end(attempts[0]), None);
    assert_eq!(pool.live(), 1);
    pool.wish(a, 5);
    assert_eq!(pool.grant(now), BTreeMap::from([(a, 1)]));
}

#[test]
fn a_draining_pool_grants_and_starts_nothing() {
    let [a] = campaigns(1)[..] else { unreachable!() };
    let now = Instant::now();
    let mut pool = LinePool::new(4, 0.0);
    pool.wish(a, 2);
    pool.grant(now);
    pool.drain();
    pool.wish(a, 2);
    assert_eq!(pool.grant(now), BTreeMap::new());
    assert!(!pool.start(AttemptId::new(), a, now));
}

#[test]
fn idle_time_is_not_banked() {
    let [a] = campaigns(1)[..] else { unreachable!() };
    let start = Instant::now();
    let mut pool = LinePool::new(100, 3.0);
    pool.wish(a, 100);
    let later = start + Duration::from_secs(3600);
    assert_eq!(pool.grant(later), BTreeMap::from([(a, 3)]));
    assert_eq!(pool.next_slot(), None, "grants hold the second until they are used");
    for _ in 0..3 {
        assert!(pool.start(AttemptId::new(), a, later));
    }
    assert_eq!(pool.grant(later + Duration::from_secs(1)), BTreeMap::new());
    let slot = pool.next_slot().unwrap();
    assert_eq!(slot, later + Duration::from_secs(1) + JITTER);
    assert_eq!(pool.grant(slot), BTreeMap::from([(a, 3)]));
}

#[test]
fn less_than_one_call_a_second_is_one_call_in_several() {
    let [a] = campaigns(1)[..] else { unreachable!() };
    let now = Instant::now();
    let mut pool = LinePool::new(100, 0.5);
    pool.wish(a, 100);
    assert_eq!(pool.grant(now), BTreeMap::from([(a, 1)]));
    assert!(pool.start(AttemptId::new(), a, now));
    assert_eq!(pool.grant(now + Duration::from_secs(2)), BTreeMap::new());
    assert_eq!(pool.grant(now + Duration::from_secs(2) + JITTER).len(), 1);
}

#[test]
fn a_call_from_outside_takes_a_free_line_before_those_who_wait_and_whatever_the_rate() {
    let [a, outside] = campaigns(2)[..] else { unreachable!() };
    let now = Instant::now();
    let mut pool = LinePool::new(3, 1.0);
    pool.wish(a, 5);
    assert_eq!(pool.grant(now), BTreeMap::from([(a, 1)]));
    let calls = [AttemptId::new(), AttemptId::new()];
    assert!(pool.take(calls[0], outside));
    assert!(!pool.take(calls[0], outside), "it lives already");
    assert!(pool.take(calls[1], outside));
    assert!(!pool.take(AttemptId::new(), outside), "the last line is granted");
    assert_eq!(pool.calls_of(outside).len(), 2);
    assert_eq!(pool.end(calls[0]), Some(outside));
    pool.drain();
    let last = AttemptId::new();
    assert!(
        pool.take(last, outside),
        "what is dialed is one thing, what comes another"
    );
    pool.end(last);
    pool.close();
    assert!(pool.is_full());
    assert!(!pool.take(AttemptId::new(), outside));
}

#[derive(Debug, Clone)]
enum Step {
    Wish(usize, usize),
    Grant,
    Start(usize),
    Take(usize),
    End(usize),
    GiveBack(usize, usize),
    Reclaim(usize),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..4usize, 0..8usize).prop_map(|(c, n)| Step::Wish(c, n)),
        Just(Step::Grant),
        (0..4usize).prop_map(Step::Start),
        (0..4usize).prop_map(Step::Take),
        any::<usize>().prop_map(Step::End),
        (0..4usize, 0..8usize).prop_map(|(c, n)| Step::GiveBack(c, n)),
        (0..4usize).prop_map(Step::Reclaim),
        (0..700u64).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Whatever happens, no more lines are in use than there are, no more calls start in a second than
    /// allowed, and every line is free once everything has ended and was taken back.
    #[test]
    fn lines_never_leak_and_never_multiply(
        steps in prop::collection::vec(step(), 0..200),
        lines in 0..10usize,
        rate in 0..5u32,
    ) {
        let ids = campaigns(4);
        let mut pool = LinePool::new(lines, f64::from(rate));
        let mut now = Instant::now();
        let mut live = Vec::new();
        let mut starts: Vec<Instant> = Vec::new();
        for step in steps {
            match step {
                Step::Wish(c, n) => pool.wish(ids[c], n),
                Step::Grant => { pool.grant(now); }
                Step::Start(c) => {
                    let attempt = AttemptId::new();
                    if pool.start(attempt, ids[c], now) {
                        live.push(attempt);
                        starts.push(now);
                    }
                }
                Step::Take(c) => {
                    let attempt = AttemptId::new();
                    let free = pool.live() + pool.granted() < lines;
                    prop_assert_eq!(pool.take(attempt, ids[c]), free);
                    live.extend(free.then_some(attempt));
                }
                Step::End(i) if !live.is_empty() => {
                    let attempt = live.swap_remove(i % live.len());
                    prop_assert!(pool.end(attempt).is_some());
                    prop_assert!(pool.end(attempt).is_none());
                }
                Step::End(_) => {}
                Step::GiveBack(c, n) => pool.give_back(ids[c], n),
                Step::Reclaim(c) => pool.reclaim(ids[c]),
                Step::Wait(ms) => now += Duration::from_millis(ms),
            }
            prop_assert!(pool.live() + pool.granted() <= lines);
            prop_assert_eq!(pool.live(), live.len());
            if rate > 0 {
                let recent = starts.iter().filter(|at| now.duration_since(**at) < Duration::from_secs(1)).count();
                prop_assert!(recent <= rate as usize);
            }
        }
        for attempt in live {
            pool.end(attempt);
        }
        for id in &ids {
            pool.reclaim(*id);
        }
        now += Duration::from_secs(10);
        pool.wish(ids[0], lines.max(1));
        let granted: usize = pool.grant(now).values().sum();
        prop_assert_eq!(granted, if rate == 0 { lines } else { lines.min(rate as usize) });
    }
}

#[test]
fn a_pool_with_too_much_to_do_grants_nothing_and_goes_on_where_it_was() {
    let [a] = campaigns(1)[..] else { unreachable!() };
    let now = Instant::now();
    let mut pool = LinePool::new(4, 1.0);
    pool.wish(a, 3);
    assert_eq!(pool.grant(now), BTreeMap::from([(a, 1)]));
    pool.set_level(Level::NoDials);
    let later = now + Duration::from_secs(10);
    assert!(pool.start(AttemptId::new(), a, now), "what was granted is dialed");
    assert_eq!(pool.grant(later), BTreeMap::new());
    assert_eq!(pool.next_slot(), None, "it is told when it may go on");
    assert!(!pool.is_full());
    assert!(pool.take(AttemptId::new(), a), "a call from outside is still taken");
    pool.set_level(Level::NoInbound);
    assert!(pool.is_full());
    assert!(!pool.take(AttemptId::new(), a));
    assert_eq!(pool.live(), 2, "live calls go on");
    pool.set_level(Level::NoWrites);
    assert_eq!(pool.grant(later), BTreeMap::from([(a, 1)]));
}
