//! Callees who say nothing, at first or at all: the agent asks again, and a call never stays open for good.

use super::{
    Scenario,
    common::{ASKS_DAY, BYE, DONE, FRIDAY, HELLO, greeted, say},
    setup::Setup,
};
use crate::exchange::{LineSound, Step};

const STILL_THERE: &str = "agent: Are you still there? Which day suits you for a visit?";
const GIVES_UP: &str = "agent: I can't hear you, so I'll hang up now. Goodbye!";

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut rustling = Scenario::new(
        "silent-with-noise",
        Setup::day(),
        vec![],
        &[ASKS_DAY, STILL_THERE, STILL_THERE, GIVES_UP, DONE],
    );
    rustling.script.line = LineSound {
        noise_dbfs: Some(-45.0),
        ..LineSound::default()
    };
    vec![
        Scenario::new(
            "silent-from-the-start",
            Setup::day(),
            vec![],
            &[ASKS_DAY, STILL_THERE, STILL_THERE, GIVES_UP, DONE],
        ),
        rustling,
        Scenario::new(
            "silent-after-greeting",
            Setup::day(),
            greeted([]),
            &[HELLO, ASKS_DAY, STILL_THERE, STILL_THERE, GIVES_UP, DONE],
        ),
        Scenario::new(
            "slow-to-answer",
            Setup::day(),
            greeted([Step::WaitMs(3_500), say("Friday.")]),
            &[HELLO, ASKS_DAY, FRIDAY, BYE, DONE],
        ),
        Scenario::new(
            "answers-when-asked-again",
            Setup::day(),
            greeted([Step::UntilAgentSaid, say("Friday.")]),
            &[HELLO, ASKS_DAY, STILL_THERE, FRIDAY, BYE, DONE],
        ),
    ]
}
