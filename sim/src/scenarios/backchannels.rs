//! Signs of listening while the agent talks: it may stop for a moment, never for good.

use super::{
    Scenario,
    common::{
        ASKS_DAY, BYE, DONE, FRIDAY, HELLO, STOPPED_ONCE, YES, day_named, in_second_question, murmur, say, until_word,
    },
    setup::Setup,
};
use crate::exchange::Step;

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        in_second_question(
            "mm-hm-early",
            vec![Step::IntoSpeechMs(200), murmur("Mm-hm.")],
            STOPPED_ONCE,
        ),
        in_second_question(
            "mm-hm-middle",
            vec![Step::IntoSpeechMs(1_200), murmur("Mm-hm.")],
            STOPPED_ONCE,
        ),
        in_second_question("mm-hm-late", vec![until_word("your"), murmur("Mm-hm.")], STOPPED_ONCE),
        in_second_question("okay", vec![Step::IntoSpeechMs(900), murmur("Okay.")], STOPPED_ONCE),
        in_second_question(
            "yeah-right",
            vec![Step::IntoSpeechMs(600), murmur("Yeah, right.")],
            STOPPED_ONCE,
        ),
        Scenario::new(
            "mm-hm-in-greeting",
            Setup::day(),
            vec![
                Step::WaitMs(400),
                say("Hello?"),
                Step::IntoSpeechMs(2_000),
                murmur("Mm-hm."),
                Step::UntilAgentSaid,
                say("Friday."),
            ],
            &[HELLO, ASKS_DAY, "paused", "resumed", FRIDAY, BYE, DONE],
        ),
        Scenario::new(
            "several-mm-hm",
            Setup::day(),
            vec![
                Step::WaitMs(400),
                say("Hello?"),
                Step::IntoSpeechMs(1_800),
                murmur("Mm-hm."),
                Step::WaitMs(900),
                murmur("Okay."),
                Step::WaitMs(900),
                murmur("Mm-hm."),
                Step::UntilAgentSaid,
                say("Friday."),
            ],
            &[
                HELLO, ASKS_DAY, "paused", "resumed", "paused", "resumed", "paused", "resumed", FRIDAY, BYE, DONE,
            ],
        ),
        Scenario::new(
            "mm-hm-then-interrupt",
            Setup::two(),
            day_named([
                Step::IntoSpeechMs(300),
                murmur("Mm-hm."),
                Step::WaitMs(700),
                say("Sorry, could you say that again?"),
                Step::UntilAgentSaid,
                say("Yes."),
            ]),
            &[
                HELLO,
                ASKS_DAY,
                FRIDAY,
                "paused",
                "resumed",
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
