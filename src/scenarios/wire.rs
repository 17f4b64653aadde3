//! Lines whose frames come late, twice, out of order, in bursts or not at all: the conversation is the same.

use super::{
    Scenario,
    common::{ASKS_DAY, ASKS_FIRST, BYE, DONE, FRIDAY, HELLO, YES, day_named, say},
    setup::Setup,
};
use crate::exchange::{Stall, Step, WireFaults};

fn on(name: &'static str, wire: WireFaults) -> Scenario {
    let steps = day_named([Step::UntilAgentSaid, say("Yes.")]);
    let mut scenario = Scenario::new(
        name,
        Setup::two(),
        steps,
        &[HELLO, ASKS_DAY, FRIDAY, ASKS_FIRST, YES, BYE, DONE],
    );
    scenario.script.wire = wire;
    scenario
}

fn interrupted(name: &'static str, wire: WireFaults) -> Scenario {
    let steps = day_named([
        Step::IntoSpeechMs(1_000),
        say("Sorry, could you say that again?"),
        Step::UntilAgentSaid,
        say("Yes."),
    ]);
    let mut scenario = Scenario::new(
        name,
        Setup::two(),
        steps,
        &[
            HELLO,
            ASKS_DAY,
            FRIDAY,
            "agent (cut): Thank you.",
            "paused",
            "user: Sorry, could you say that again?",
            "agent: Of course. Is this your first visit?",
            YES,
            BYE,
            DONE,
        ],
    );
    scenario.script.wire = wire;
    scenario
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let sound = WireFaults::default();
    let stall = |from_ms, ms| WireFaults {
        stall: Some(Stall { from_ms, ms }),
        ..sound
    };
    let jitter = WireFaults {
        jitter_ms: 100,
        ..sound
    };
    let twice = WireFaults {
        duplicate_every: Some(5),
        ..sound
    };
    let swapped = WireFaults {
        swap_every: Some(7),
        ..sound
    };
    let bursts = WireFaults {
        burst_frames: Some(10),
        ..sound
    };
    vec![
        on("frames-late", jitter),
        on("frames-twice", twice),
        on("frames-out-of-order", swapped),
        on("frames-in-bursts", bursts),
        on(
            "frames-lost",
            WireFaults {
                lose_every: Some(150),
                ..sound
            },
        ),
        // The greeting is being spoken, nobody speaks, and while the callee answers.
        on("no-frames-in-greeting", stall(3_000, 1_000)),
        on("no-frames-for-2-s", stall(4_000, 2_000)),
        interrupted("frames-late-interrupt", jitter),
        interrupted("frames-in-bursts-interrupt", bursts),
    ]
}
