//! Lines that return the agent's own voice: it must not interrupt itself, and still hear a real interruption.

use super::{
    Scenario,
    common::{ASKS_DAY, ASKS_FIRST, BYE, DONE, FRIDAY, HELLO, YES, day_named, murmur, say},
    setup::Setup,
};
use crate::exchange::{Echo, Step};

fn echoing(mut scenario: Scenario, gain_db: f64, delay_ms: u64) -> Scenario {
    scenario.script.line.echo = Some(Echo { gain_db, delay_ms });
    scenario
}

fn undisturbed(name: &'static str) -> Scenario {
    let steps = day_named([Step::UntilAgentSaid, say("Yes.")]);
    Scenario::new(
        name,
        Setup::two(),
        steps,
        &[HELLO, ASKS_DAY, FRIDAY, ASKS_FIRST, YES, BYE, DONE],
    )
}

fn interrupted(name: &'static str) -> Scenario {
    let steps = day_named([
        Step::IntoSpeechMs(1_000),
        say("Sorry, could you say that again?"),
        Step::UntilAgentSaid,
        say("Yes."),
    ]);
    Scenario::new(
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
    )
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let murmured = Scenario::new(
        "echo-20-mm-hm",
        Setup::two(),
        day_named([
            Step::IntoSpeechMs(1_000),
            murmur("Mm-hm."),
            Step::UntilAgentSaid,
            say("Yes."),
        ]),
        &[HELLO, ASKS_DAY, FRIDAY, ASKS_FIRST, "paused", "resumed", YES, BYE, DONE],
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
