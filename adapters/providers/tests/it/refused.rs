//! Tests of language providers at an address where nobody listens: how long turns are delayed until the guard opens.

use std::time::Duration;

use domain::ports::{
    language_model::{LanguageError, ReplyEvent},
    usage::Meter,
};
use net::guard::{Guards, Kind};
use tokio::time::Instant;

use crate::language::{booking, models_with, reply, request, settings, stubs, told};

/// Returns the durations of replies made one after the other.
async fn turns(names: &[&str], guards: &Guards, count: usize) -> Vec<Duration> {
    let gone = stubs().await;
    let settings = settings(&gone, &gone);
    drop(gone);
    tokio::task::yield_now().await;
    let models = models_with(names, &settings, guards);
    let mut took = Vec::new();
    for _ in 0..count {
        let began = Instant::now();
        let events: Vec<Result<ReplyEvent, LanguageError>> =
            reply(&models, request(&booking(), &[], &Meter::default())).await;
        assert!(told(events).0.contains("preferred day"));
        took.push(began.elapsed());
    }
    took
}

/// A refused connection is known within a millisecond, and the fallback answers in the same turn. So a
/// refusal needs no threshold of its own.
#[tokio::test(start_paused = true)]
async fn a_refused_connection_costs_a_turn_next_to_nothing_and_five_of_them_open_the_guard() {
    let guards = Guards::default();
    let guard = guards.get(Kind::LanguageModel, "openai");
    let took = turns(&["openai", "interviewer"], &guards, 4).await;
    assert!(!guard.is_down(), "four may be a restart");
    assert!(took.iter().all(|took| *took < Duration::from_millis(50)), "{took:?}");
    let took = turns(&["openai", "interviewer"], &guards, 1).await;
    assert!(guard.is_down(), "five in a row are none");
    assert!(took[0] < Duration::from_millis(50), "{took:?}");
    assert!(guard.admit().is_err(), "turns go straight to the fallback");
}
