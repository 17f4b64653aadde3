//! Lines whose frames come late, twice, out of order, in bursts or not at all: the conversation is the same.

use super::{
    Scenario,
    common::{interrupted, undisturbed},
};
use crate::exchange::{Stall, WireFaults};

fn on(mut scenario: Scenario, wire: WireFaults) -> Scenario {
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
        on(undisturbed("frames-late"), jitter),
        on(undisturbed("frames-twice"), twice),
        on(undisturbed("frames-out-of-order"), swapped),
        on(undisturbed("frames-in-bursts"), bursts),
        on(
            undisturbed("frames-lost"),
            WireFaults {
                lose_every: Some(150),
                ..sound
            },
        ),
        // The greeting is being spoken, nobody speaks, and while the callee answers.
        on(undisturbed("no-frames-in-greeting"), stall(3_000, 1_000)),
        on(undisturbed("no-frames-for-2-s"), stall(4_000, 2_000)),
        on(interrupted("frames-late-interrupt"), jitter),
        on(interrupted("frames-in-bursts-interrupt"), bursts),
    ]
}
