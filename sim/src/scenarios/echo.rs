//! Lines that return the agent's own voice: it must not interrupt itself, and still hear a real interruption.

use super::{
    Scenario,
    common::{STOPPED_ONCE, in_second_question, interrupted, murmur, undisturbed},
};
use crate::exchange::{Echo, Step};

fn echoing(mut scenario: Scenario, gain_db: f64, delay_ms: u64) -> Scenario {
    scenario.script.line.echo = Some(Echo { gain_db, delay_ms });
    scenario
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let murmured = in_second_question(
        "echo-20-mm-hm",
        [Step::IntoSpeechMs(1_000), murmur("Mm-hm.")],
        STOPPED_ONCE,
    );
    vec![
        echoing(undisturbed("echo-20"), -20.0, 150),
        echoing(undisturbed("echo-16"), -16.0, 150),
        echoing(undisturbed("echo-12"), -12.0, 150),
        echoing(undisturbed("echo-16-late"), -16.0, 300),
        echoing(interrupted("echo-20-interrupt"), -20.0, 150),
        echoing(interrupted("echo-16-interrupt"), -16.0, 150),
        echoing(interrupted("echo-12-interrupt"), -12.0, 150),
        echoing(murmured, -20.0, 150),
    ]
}
