//! Tables of the events that open and close a breaker, and a property that holds for any sequence.

use std::time::Duration;

use proptest::prelude::*;
use tokio::time::{Instant, advance};

use super::{
    Guard, Guards, Kind,
    Verdict::{OurFault, Refused, Unhealthy},
    breaker::Breaker,
};

fn guard() -> Guard {
    Guards::default().get(Kind::LanguageModel, "openai")
}

fn fail(guard: &Guard, times: usize) {
    for _ in 0..times {
        guard.admit().unwrap().failed(Unhealthy, "trouble");
    }
}

async fn pass(seconds: u64) {
    advance(Duration::from_secs(seconds)).await;
}

/// Waits until the pause that just began is over, and returns its length in seconds.
async fn sit_out(guard: &Guard) -> u64 {
    let pause = guard.admit().unwrap_err().retry_in;
    assert!(guard.is_down());
    advance(pause).await;
    assert!(!guard.is_down(), "somebody must come to probe");
    pause.as_secs()
}

#[tokio::test(start_paused = true)]
async fn failures_in_a_row_open_it_and_a_probe_closes_it() {
    let guard = guard();
    fail(&guard, 4);
    guard.admit().unwrap().succeeded();
    fail(&guard, 4);
    assert!(!guard.is_down());
    fail(&guard, 1);
    assert!(guard.is_down());
    let tripped = guard.admit().unwrap_err();
    assert_eq!(tripped.retry_in, Duration::from_secs(5));
    assert!(tripped.to_string().ends_with("next request in 5 s"), "{tripped}");
    pass(4).await;
    assert_eq!(guard.admit().unwrap_err().retry_in, Duration::from_secs(1));
    pass(1).await;
    let probe = guard.admit().unwrap();
    assert!(guard.admit().is_err(), "one probe at a time");
    probe.succeeded();
    let (first, second) = (guard.admit().unwrap(), guard.admit().unwrap());
    first.succeeded();
    second.succeeded();
    fail(&guard, 4);
    assert!(!guard.is_down(), "old failures are forgotten");
}

#[tokio::test(start_paused = true)]
async fn more_than_half_of_the_last_twenty_open_it() {
    let guard = guard();
    for _ in 0..10 {
        guard.admit().unwrap().failed(Unhealthy, "trouble");
        guard.admit().unwrap().succeeded();
    }
    fail(&guard, 1);
    assert!(!guard.is_down(), "ten of twenty");
    fail(&guard, 1);
    assert!(guard.is_down(), "eleven of twenty");
}

#[tokio::test(start_paused = true)]
async fn each_probe_that_fails_doubles_the_pause_to_a_minute() {
    let guard = guard();
    fail(&guard, 5);
    for expected in [5, 10, 20, 40, 60, 60] {
        assert_eq!(sit_out(&guard).await, expected);
        guard.admit().unwrap().failed(Unhealthy, "trouble");
    }
    pass(60).await;
    guard.admit().unwrap().succeeded();
    fail(&guard, 5);
    assert_eq!(sit_out(&guard).await, 5, "it begins afresh");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_opens_it_at_once_and_for_a_minute() {
    let guard = guard();
    guard.admit().unwrap().failed(Refused, "trouble");
    for expected in [60, 60, 60] {
        assert_eq!(sit_out(&guard).await, expected);
        guard.admit().unwrap().failed(Refused, "trouble");
    }
}

#[tokio::test(start_paused = true)]
async fn our_own_faults_and_cancelled_requests_count_as_nothing() {
    let guard = guard();
    for _ in 0..40 {
        guard.admit().unwrap().failed(OurFault, "trouble");
        drop(guard.admit().unwrap());
    }
    fail(&guard, 4);
    guard.admit().unwrap().failed(OurFault, "trouble");
    assert!(!guard.is_down());
    fail(&guard, 1);
    assert!(guard.is_down(), "nor do they break a row");
    pass(5).await;
    drop(guard.admit().unwrap());
    guard.admit().unwrap().failed(OurFault, "trouble");
    guard.admit().unwrap().succeeded();
    assert!(guard.admit().is_ok());
}

fn refuse(guard: &Guard, call: u64) {
    guard.admit().unwrap().for_call(call).failed(OurFault, "no such voice");
}

#[tokio::test(start_paused = true)]
async fn what_different_calls_ask_amiss_in_a_row_keeps_new_ones_back() {
    let guard = guard();
    for _ in 0..10 {
        refuse(&guard, 1);
        refuse(&guard, 2);
    }
    assert!(!guard.is_down(), "two calls are two agents at most");
    guard.admit().unwrap().for_call(2).succeeded();
    refuse(&guard, 3);
    refuse(&guard, 4);
    assert!(!guard.is_down(), "not in a row");
    refuse(&guard, 5);
    assert!(guard.is_down());
    assert!(guard.may_retry());
    refuse(&guard, 6);
    for expected in [5, 10, 20, 40, 60, 60] {
        pass(expected - 1).await;
        assert!(guard.is_down(), "{expected}");
        refuse(&guard, 6);
        pass(1).await;
        assert!(!guard.is_down(), "somebody must come to find out");
        refuse(&guard, 5);
        assert!(guard.is_down(), "one is enough now");
    }
    guard.admit().unwrap().for_call(3).succeeded();
    assert!(!guard.is_down(), "who was under way went on, and asked aright");
    refuse(&guard, 7);
    refuse(&guard, 8);
    assert!(!guard.is_down());
}

#[tokio::test(start_paused = true)]
async fn one_that_refuses_all_is_probed_until_it_takes_what_is_asked() {
    let guards = Guards::default();
    let guard = guards.get(Kind::TextToSpeech, "openai");
    guards.will_be_probed();
    (0..3).for_each(|call| refuse(&guard, call));
    assert!(guard.is_down() && guards.wanting_probe().is_empty());
    pass(5).await;
    assert!(guard.is_down(), "nobody is called to find out");
    assert_eq!(guards.wanting_probe().len(), 1);
    guard.admit().unwrap().failed(Unhealthy, "404");
    assert!(guards.wanting_probe().is_empty(), "it is left alone for longer");
    pass(10).await;
    guards.wanting_probe()[0].admit().unwrap().succeeded();
    assert!(!guard.is_down() && guards.wanting_probe().is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_that_refuses_under_one_name_is_well_under_others() {
    let guards = Guards::default();
    let named = guards.get_named(Kind::TextToSpeech, "elevenlabs", "no-such-voice");
    (0..9).for_each(|call| refuse(&named, call));
    assert!(named.is_down());
    assert!(!guards.get(Kind::TextToSpeech, "elevenlabs").is_down());
    assert!(!guards.get_named(Kind::TextToSpeech, "elevenlabs", "another").is_down());
}

#[tokio::test(start_paused = true)]
async fn one_that_is_probed_stays_down_until_it_was_found_well() {
    let guards = Guards::default();
    let guard = guards.get(Kind::LanguageModel, "openai");
    guards.will_be_probed();
    fail(&guard, 5);
    assert!(guards.wanting_probe().is_empty(), "it is left alone first");
    pass(5).await;
    assert!(guard.is_down(), "nobody is called to find out");
    assert_eq!(guards.wanting_probe().len(), 1);
    guard.admit().unwrap().succeeded();
    assert!(!guard.is_down() && guards.wanting_probe().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_names_has_a_guard_of_its_own() {
    let guards = Guards::default();
    let provider = guards.get(Kind::TextToSpeech, "elevenlabs");
    let named = guards.get_named(Kind::TextToSpeech, "elevenlabs", "no-such-voice");
    named.admit().unwrap().failed(Refused, "no such voice");
    assert!(named.is_down() && !provider.is_down());
    let again = guards.get_named(Kind::TextToSpeech, "elevenlabs", "no-such-voice");
    assert!(again.admit().unwrap_err().to_string().contains("no such voice"));
    for n in 0..2_000 {
        drop(guards.get_named(Kind::TextToSpeech, "elevenlabs", &n.to_string()));
    }
    assert!(guards.wanting_probe().len() <= 1_000);
}

#[tokio::test(start_paused = true)]
async fn what_only_an_agent_names_is_probed_as_long_as_somebody_wants_it() {
    let guards = Guards::default();
    guards.will_be_probed();
    let (own, named) = (
        guards.get(Kind::LanguageModel, "openai"),
        guards.get_named(Kind::LanguageModel, "openai", "gone"),
    );
    let wanting = || {
        guards
            .wanting_probe()
            .iter()
            .map(|guard| guard.name().to_owned())
            .collect::<Vec<_>>()
    };
    fail(&own, 5);
    fail(&named, 5);
    pass(5).await;
    assert_eq!(wanting(), ["", "gone"]);
    pass(600).await;
    assert_eq!(wanting(), [""], "the service's own is probed for ever");
    assert!(named.is_down(), "a campaign asks after it");
    assert_eq!(wanting(), ["", "gone"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_before_it_opened_says_nothing_later() {
    let guard = guard();
    let old: Vec<_> = (0..4).map(|_| guard.admit().unwrap()).collect();
    fail(&guard, 5);
    let mut old = old.into_iter();
    old.next().unwrap().succeeded();
    assert!(guard.is_down(), "an old success does not close it");
    pass(5).await;
    let probe = guard.admit().unwrap();
    old.next().unwrap().failed(Unhealthy, "trouble");
    drop(old.next().unwrap());
    assert!(guard.admit().is_err(), "the probe is still out");
    probe.succeeded();
    old.next().unwrap().failed(Refused, "trouble");
    assert!(guard.admit().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_tells_nothing_keeps_nobody_back_for_long() {
    let guard = guard();
    fail(&guard, 5);
    pass(5).await;
    let _silent = guard.admit().unwrap();
    pass(14).await;
    assert_eq!(guard.admit().unwrap_err().retry_in, Duration::from_secs(1));
    pass(1).await;
    guard.admit().unwrap().succeeded();
    assert!(guard.admit().is_ok());
}

#[tokio::test(start_paused = true)]
async fn retries_are_a_few_and_then_a_tenth_of_the_requests() {
    let guard = guard();
    let retries = |guard: &Guard| {
        std::iter::repeat_with(|| guard.may_retry())
            .take_while(|may| *may)
            .count()
    };
    assert_eq!(retries(&guard), 3);
    for _ in 0..50 {
        guard.admit().unwrap().succeeded();
    }
    assert_eq!(retries(&guard), 5);
    for _ in 0..1000 {
        guard.admit().unwrap().succeeded();
    }
    assert_eq!(retries(&guard), 10, "what is saved up is bounded");
    for _ in 0..50 {
        guard.admit().unwrap().succeeded();
    }
    fail(&guard, 5);
    assert!(!guard.may_retry(), "none while it is left alone");
}

#[tokio::test(start_paused = true)]
async fn a_provider_has_one_guard_for_each_kind() {
    let guards = Guards::default();
    fail(&guards.clone().get(Kind::TextToSpeech, "deepgram"), 5);
    assert!(guards.get(Kind::TextToSpeech, "deepgram").is_down());
    assert!(!guards.get(Kind::SpeechToText, "deepgram").is_down());
    assert!(!guards.get(Kind::TextToSpeech, "cartesia").is_down());
    let guard = guards.get(Kind::TextToSpeech, "deepgram");
    assert_eq!((guard.provider(), guard.kind().as_str()), ("deepgram", "voice"));
}

proptest! {
    /// For any sequence of events: while the breaker is open nothing passes, and no pause exceeds five minutes.
    #[test]
    fn it_never_stays_shut(steps in prop::collection::vec((0u8..7, 0usize..4, 0u64..400), 1..200)) {
        let mut breaker = Breaker::default();
        let mut now = Instant::now();
        let mut out = Vec::new();
        for (step, which, seconds) in steps {
            let taken = (!out.is_empty()).then(|| which % out.len());
            match (step, taken) {
                (0, _) => now += Duration::from_secs(seconds),
                (1 | 2, _) => match breaker.admit(now) {
                    Ok(epoch) => {
                        prop_assert!(!breaker.is_down(now));
                        out.push(epoch);
                    }
                    Err(pause) => prop_assert!(pause <= Duration::from_secs(300)),
                },
                (3, Some(taken)) => breaker.succeeded(out.swap_remove(taken)),
                (4, Some(taken)) => breaker.failed(out.swap_remove(taken), Unhealthy, now),
                (5, Some(taken)) => breaker.failed(out.swap_remove(taken), Refused, now),
                (_, Some(taken)) => breaker.let_go(out.swap_remove(taken)),
                (_, None) => {}
            }
        }
        for epoch in out {
            breaker.let_go(epoch);
        }
        prop_assert!(breaker.admit(now + Duration::from_secs(300)).is_ok());
    }
}
