//! Words over the agent: early, late, at its last word, quietly, with an answer or a question. It must stop, and what
//! was heard must be known.

use super::{
    Scenario,
    common::{ASKS_DAY, BYE, DONE, FRIDAY, HELLO, YES, day_named, greeted, in_second_question, say, until_word},
    setup::Setup,
};
use crate::exchange::Step;

const AGAIN: &str = "Sorry, could you say that again?";
const SAID_AGAIN: &str = "user: Sorry, could you say that again?";

/// Breaks into the second question, and answers it when it is asked again.
fn into_reply(name: &'static str, when: Step, expect: &'static [&'static str]) -> Scenario {
    in_second_question(name, [when, say(AGAIN)], expect)
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut all = into_replies();
    all.push(Scenario::new(
        "interrupt-greeting",
        Setup::day(),
        vec![
            Step::WaitMs(400),
            say("Hello?"),
            Step::IntoSpeechMs(2_500),
            say("Who is this, please?"),
            Step::UntilAgentSaid,
            say("Friday."),
        ],
        &[
            HELLO,
            "agent (cut): Hello, this is Ava from",
            "paused",
            "user: Who is this, please?",
            "agent: This is an automated call from Ava. Which day suits you for a visit?",
            FRIDAY,
            BYE,
            DONE,
        ],
    ));
    all.push(Scenario::new(
        "interrupt-with-answer",
        Setup::day(),
        vec![
            Step::WaitMs(400),
            say("Hello?"),
            until_word("you"),
            say("Friday suits me best."),
        ],
        &[
            HELLO,
            "agent (cut): Hello, this is Ava from Greenfield Dental. Which day suits you",
            "paused",
            "user: Friday suits me best.",
            BYE,
            DONE,
        ],
    ));
    all.push(Scenario::new(
        "interrupt-eager",
        Setup::two().eager(),
        day_named([Step::IntoSpeechMs(1_000), say(AGAIN), Step::UntilAgentSaid, say("Yes.")]),
        &[
            HELLO,
            ASKS_DAY,
            FRIDAY,
            "agent (cut): Thank you.",
            "paused",
            SAID_AGAIN,
            "agent: Of course. Is this your first visit?",
            YES,
            BYE,
            DONE,
        ],
    ));
    all
}

fn into_replies() -> Vec<Scenario> {
    vec![
        into_reply(
            "interrupt-300",
            Step::IntoSpeechMs(300),
            &[
                HELLO,
                ASKS_DAY,
                FRIDAY,
                "paused",
                SAID_AGAIN,
                "agent: Of course. Is this your first visit?",
                YES,
                BYE,
                DONE,
            ],
        ),
        into_reply(
            "interrupt-1500",
            Step::IntoSpeechMs(1_500),
            &[
                HELLO,
                ASKS_DAY,
                FRIDAY,
                "agent (cut): Thank you.",
                "paused",
                SAID_AGAIN,
                "agent: Of course. Is this your first visit?",
                YES,
                BYE,
                DONE,
            ],
        ),
        into_reply(
            "interrupt-late",
            until_word("first"),
            &[
                HELLO,
                ASKS_DAY,
                FRIDAY,
                "agent (cut): Thank you. Is this your first",
                "paused",
                SAID_AGAIN,
                "agent: Of course. Once more, please say yes or no: Is this your first visit?",
                YES,
                BYE,
                DONE,
            ],
        ),
        into_reply(
            "interrupt-last-word",
            until_word("visit"),
            &[
                HELLO,
                ASKS_DAY,
                FRIDAY,
                "agent (cut): Thank you. Is this your first visit?",
                SAID_AGAIN,
                "agent: Of course. Once more, please say yes or no: Is this your first visit?",
                YES,
                BYE,
                DONE,
            ],
        ),
        Scenario::new(
            "interrupt-quietly",
            Setup::two(),
            day_named([
                Step::IntoSpeechMs(900),
                Step::SayQuietly {
                    text: AGAIN.to_owned(),
                    dbfs: -32.0,
                },
                Step::UntilAgentSaid,
                say("Yes."),
            ]),
            &[
                HELLO,
                ASKS_DAY,
                FRIDAY,
                "agent (cut): Thank you.",
                "paused",
                SAID_AGAIN,
                "agent: Of course. Is this your first visit?",
                YES,
                BYE,
                DONE,
            ],
        ),
        Scenario::new(
            "interrupt-twice",
            Setup::two(),
            day_named([
                Step::IntoSpeechMs(1_000),
                say(AGAIN),
                Step::UntilAgentStarts,
                Step::IntoSpeechMs(1_000),
                say("Wait, please repeat that."),
                Step::UntilAgentSaid,
                say("Yes."),
            ]),
            &[
                HELLO,
                ASKS_DAY,
                FRIDAY,
                "agent (cut): Thank you.",
                "paused",
                SAID_AGAIN,
                "agent (cut): Of course.",
                "paused",
                "user: Wait, please repeat that.",
                "agent: Of course. Is this your first visit?",
                YES,
                BYE,
                DONE,
            ],
        ),
        Scenario::new(
            "interrupt-at-length",
            Setup::two(),
            greeted([
                say("Friday."),
                Step::IntoSpeechMs(1_200),
                say("Yes, it is my very first visit, and I am a little nervous about it, to be honest."),
            ]),
            &[
                HELLO,
                ASKS_DAY,
                FRIDAY,
                "agent (cut): Thank you.",
                "paused",
                "user: Yes, it is my very first visit, and I am a little nervous about it, to be honest.",
                BYE,
                DONE,
            ],
        ),
    ]
}
