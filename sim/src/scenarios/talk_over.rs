//! Two who begin at the same moment, a callee who talks first or goes on in the agent's thinking gap, and a greeting
//! that nothing interrupts.

use super::{
    Scenario,
    common::{ASKS_DAY, ASKS_FIRST, BYE, DONE, FRIDAY, HELLO, YES, day_named, greeted, say},
    setup::Setup,
};
use crate::exchange::Step;

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut all = greetings();
    all.extend(vec![
        Scenario::new(
            "double-talk",
            Setup::two(),
            day_named([
                Step::UntilAgentStarts,
                say("At ten o'clock, please."),
                Step::UntilAgentSaid,
                say("Yes."),
            ]),
            &[
                HELLO,
                ASKS_DAY,
                FRIDAY,
                "paused",
                "user: At ten o'clock, please.",
                ASKS_FIRST,
                YES,
                BYE,
                DONE,
            ],
        ),
        Scenario::new(
            "thinking-gap",
            Setup::two(),
            greeted([
                say("Friday,"),
                Step::WaitMs(420),
                say("at ten o'clock."),
                Step::UntilAgentSaid,
                say("Yes."),
            ]),
            &[
                HELLO,
                ASKS_DAY,
                "user: Friday, at ten o'clock.",
                ASKS_FIRST,
                YES,
                BYE,
                DONE,
            ],
        ),
        Scenario::new(
            "answer-before-question",
            Setup::two(),
            greeted([
                say("Friday, and it is my first visit."),
                Step::UntilAgentSaid,
                say("Yes."),
            ]),
            &[
                HELLO,
                ASKS_DAY,
                "user: Friday, and it is my first visit.",
                ASKS_FIRST,
                YES,
                BYE,
                DONE,
            ],
        ),
    ]);
    all
}

fn greetings() -> Vec<Scenario> {
    vec![
        Scenario::new(
            "hello-first",
            Setup::day(),
            vec![
                say("Hello, Maria Miller speaking."),
                Step::UntilAgentSaid,
                say("Friday."),
            ],
            &["user: Hello, Maria Miller speaking.", ASKS_DAY, FRIDAY, BYE, DONE],
        ),
        Scenario::new(
            "hello-late",
            Setup::day(),
            vec![Step::WaitMs(1_300), say("Hello?"), Step::UntilAgentSaid, say("Friday.")],
            &[ASKS_DAY, HELLO, FRIDAY, BYE, DONE],
        ),
        Scenario::new(
            "no-hello",
            Setup::day(),
            vec![Step::UntilAgentSaid, say("Friday.")],
            &[ASKS_DAY, FRIDAY, BYE, DONE],
        ),
        Scenario::new(
            "protected-greeting",
            Setup::two().protected(),
            vec![
                Step::WaitMs(400),
                say("Hello?"),
                Step::IntoSpeechMs(2_000),
                say("Hold on, I am on the stairs."),
                Step::UntilAgentSaid,
                say("Friday."),
                Step::UntilAgentSaid,
                say("Yes."),
            ],
            &[
                HELLO,
                ASKS_DAY,
                "user: Hold on, I am on the stairs.",
                "agent: Of course, take your time.",
                FRIDAY,
                ASKS_FIRST,
                YES,
                BYE,
                DONE,
            ],
        ),
        Scenario::new(
            "protected-greeting-answered",
            Setup::day().protected(),
            vec![
                Step::WaitMs(400),
                say("Hello?"),
                Step::IntoSpeechMs(4_000),
                say("On Friday."),
            ],
            &[HELLO, ASKS_DAY, "user: On Friday.", BYE, DONE],
        ),
        Scenario::new(
            "protected-greeting-then-interrupt",
            Setup::two().protected(),
            day_named([
                Step::IntoSpeechMs(1_000),
                say("Sorry, could you say that again?"),
                Step::UntilAgentSaid,
                say("Yes."),
            ]),
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
        ),
    ]
}
