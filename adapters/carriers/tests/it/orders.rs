//! Whatever order the callbacks of a call come in, how often and how late: its outcome is that of the callbacks in order.
//!
//! Each case is the life of one call at its carrier. Its callbacks have the form the carrier gives them and are read by
//! the carrier's own reader; each comes 1 to 4 times, every copy up to 35 s late. The call's state machine gets them
//! together with what else happens: the dial's answer (prompt, late or lost), the media socket, timers, look-ups, our own
//! end. What must hold of every case:
//!
//! - the outcome is that of the same life whose callbacks come in order and at once, and what the life itself says;
//! - it is told once, and one dial request is sent;
//! - nothing is said before the media socket is open;
//! - no leg is left at the carrier, and what was bound is the carrier's own call.
//!
//! Two things decide by their time and not by their order, so the lives keep to them: a callback that comes later than
//! the ring timeout (60 s here) finds a call that gave up as `no-answer`; and a media socket that dies without a goodbye
//! is explained by a report within 3 s, or the call is `media-lost`. The second is a life of its own, judged by that rule.
//!
//! An Asterisk tells of a call by events, which the machine that keeps the call there makes reports of, and opens the
//! media socket when that machine asks for it. Its events come in any order, too, but the one of the end not before the
//! one of the answer; some are missed, and a listing makes up for them. An end that was missed has no cause.
//!
//! `CARRIER_ORDERS=1000000 cargo test -p carriers orders::` is the long form, for each carrier.

mod asterisk;
mod life;
mod sim;
mod tongue;

use self::{
    life::{Ends, Life},
    sim::{Course, run},
    tongue::{TONGUES, Tongue},
};

/// Cases for each carrier in the short form, 25,000 in all.
const SHORT: u64 = 5_000;

fn cases() -> u64 {
    let wanted = std::env::var("CARRIER_ORDERS").ok();
    wanted.map_or(SHORT, |count| count.parse().unwrap())
}

/// Each carrier's cases on a thread of its own.
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
        // The cases are as different as they shall be.
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
        // Nobody knows why a call ended that was not seen to be answered, and nothing at all of one that came and went
        // while its dial's answer was lost. One that talked is completed all the same.
        let unknown = end.end_was_missed && life.media_ms().is_none() && life.ends() != Ends::Cancelled;
        let expected = if end.nothing_was_heard {
            Ends::FateUnknown
        } else if unknown {
            Ends::Failed("carrier-error")
        } else {
            life.ends()
        };
        // A late copy of the end tells of it after all, and one of the ringing alone that nobody answered.
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
