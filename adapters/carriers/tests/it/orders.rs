//! Tests that the order, number and delay of a call's callbacks do not change its outcome.
//!
//! Each case is the life of one call at its carrier. Its callbacks have the carrier's form and are parsed by
//! the carrier's own parser. Each arrives 1 to 4 times, and each copy is up to 35 s late. The call's state
//! machine gets them together with everything else: the dial's response (prompt, late or lost), the media
//! socket, timers, look-ups, our own end. In every case:
//!
//! - the outcome is that of the same life with prompt callbacks in order, and the one that the life implies;
//! - it is reported once, and one dial request is sent;
//! - nothing is said before the media socket is open;
//! - no leg is left at the carrier, and the bound call is the carrier's own.
//!
//! Two outcomes depend on time instead of order, so the lives respect these limits. If a callback comes after
//! the ring timeout (60 s here), the call has already ended as `no-answer`. If a media socket dies without a
//! goodbye, a report must explain it within 3 s, or the call is `media-lost`. That case is a separate kind of
//! life with its own check.
//!
//! An Asterisk reports a call through events. The state machine of the call at Asterisk converts them into
//! reports, and the media socket opens when that state machine requests it. Events also come in any order,
//! but the end not before the answer. Some are missed, and a list makes up for them. A missed end has no
//! cause.
//!
//! `CARRIER_ORDERS=1000000 cargo test -p carriers orders::` runs the long form, for each carrier.

mod asterisk;
mod life;
mod sim;
mod tongue;

use self::{
    life::{Ends, Life},
    sim::{Course, run},
    tongue::{TONGUES, Tongue},
};

/// Cases per carrier in the short form, 25,000 in all.
const SHORT: u64 = 5_000;

fn cases() -> u64 {
    let wanted = std::env::var("CARRIER_ORDERS").ok();
    wanted.map_or(SHORT, |count| count.parse().unwrap())
}

/// Runs each carrier's cases on a thread of its own.
fn of_each_tongue(check: impl Fn(Tongue) + Sync) {
    std::thread::scope(|scope| {
        for tongue in TONGUES {
            let check = &check;
            scope.spawn(move || check(tongue));
        }
    });
}

#[test]
fn any_order_repetition_and_delay_of_callbacks_leads_to_the_same_end() {
    of_each_tongue(|tongue| {
        let mut ends = std::collections::BTreeMap::<String, u64>::new();
        let mut out_of_order = 0;
        for seed in 0..cases() {
            let life = Life::of(seed);
            let tidy = run(&life, tongue, &Course::tidy());
            let course = Course::untidy(&life, seed);
            let untidy = run(&life, tongue, &course);
            let about = || format!("{} seed {seed}: {life:?} {course:?}\n{:?}", tongue.name(), untidy.log);
            assert_eq!(untidy.endings, tidy.endings, "{}", about());
            assert_eq!(untidy.endings.len(), 1, "{}", about());
            assert_eq!(Ends::of(&untidy.endings[0]), life.ends(), "{}", about());
            for end in [&tidy, &untidy] {
                assert_eq!(
                    (end.dials, end.legs_left, end.said_too_early),
                    (1, 0, false),
                    "{}",
                    about()
                );
            }
            out_of_order += u64::from(untidy.out_of_order);
            *ends.entry(format!("{:?}", life.ends())).or_default() += 1;
        }
        // The cases are as varied as intended.
        assert!(ends.len() >= 7, "{ends:?}");
        assert!(out_of_order * 2 > cases(), "{out_of_order} of {} out of order", cases());
    });
}

#[test]
fn what_was_missed_of_an_asterisk_is_made_up_for_by_a_listing() {
    let (mut missed, mut made_up) = (0, 0);
    for seed in 0..cases() {
        let life = Life::of(seed);
        let course = Course::deaf(&life, seed);
        let end = run(&life, Tongue::Asterisk, &course);
        let about = || format!("seed {seed}: {life:?} {course:?}\n{:?}", end.log);
        let got: Vec<_> = end.endings.iter().map(Ends::of).collect();
        // The cause of an end is unknown if the answer was not seen. Nothing is known about a call that ended
        // while its dial's response was lost. A call that talked is completed anyway.
        let unknown = end.end_was_missed && life.media_ms().is_none() && life.ends() != Ends::Cancelled;
        let expected = if end.nothing_was_heard {
            Ends::OutcomeUnknown
        } else if unknown {
            Ends::Failed("carrier-error")
        } else {
            life.ends()
        };
        // A late copy may still report the end, or only the ringing, which means no answer.
        let after_all = (unknown || end.nothing_was_heard) && got == [life.ends()];
        let unanswered = end.nothing_was_heard && got == [Ends::Failed("no-answer")];
        assert!(
            got == [expected] || after_all || unanswered,
            "{got:?} and not {expected:?}, {}",
            about()
        );
        assert_eq!(
            (end.dials, end.legs_left, end.said_too_early),
            (1, 0, false),
            "{}",
            about()
        );
        missed += u64::from(end.end_was_missed);
        made_up += u64::from(end.end_was_missed && !unknown);
    }
    assert!(missed > made_up && made_up > 0, "{made_up} of {missed}");
}

#[test]
fn a_socket_that_dies_is_explained_in_time_or_the_call_is_lost() {
    let mut seen = [0; 2];
    for tongue in TONGUES {
        for seed in 0..cases() / 10 {
            let life = Life::torn(seed);
            let course = Course::untidy(&life, seed);
            let end = run(&life, tongue, &course);
            let explained = course
                .first_end_after_media_ms(&life)
                .is_some_and(|after| after <= sim::EXPLAINED_MS);
            let expected = if explained {
                Ends::Completed
            } else {
                Ends::Failed("media-lost")
            };
            let got: Vec<_> = end.endings.iter().map(Ends::of).collect();
            assert_eq!(
                got,
                [expected],
                "{} seed {seed} {life:?} {course:?} {:?}",
                tongue.name(),
                end.log
            );
            seen[usize::from(explained)] += 1;
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}
