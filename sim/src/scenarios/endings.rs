//! What callees say instead of an answer, and calls that end early.

use super::{
    Scenario,
    common::{ASKS_DAY, BYE, DONE, FRIDAY, HELLO, greeted, say},
    setup::Setup,
};
use crate::exchange::Step;

/// Says this instead of an answer, then names the day if asked again.
fn instead(name: &'static str, text: &str, expect: &'static [&'static str]) -> Scenario {
    let steps = greeted([say(text), Step::UntilAgentSaid, say("Friday.")]);
    Scenario::new(name, Setup::day(), steps, expect)
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut all = asides();
    all.extend(vec![
        Scenario::new(
            "hangs-up-in-greeting",
            Setup::day(),
            vec![
                Step::WaitMs(400),
                say("Hello?"),
                Step::IntoSpeechMs(2_000),
                Step::HangUp,
            ],
            &[HELLO, "agent: Hello, this is Ava from", DONE],
        ),
        Scenario::new(
            "hangs-up-after-question",
            Setup::day(),
            greeted([Step::HangUp]),
            &[HELLO, ASKS_DAY, DONE],
        ),
        Scenario::new(
            "line-drops",
            Setup::day(),
            greeted([say("Well, I would say"), Step::Drop]),
            &[HELLO, ASKS_DAY, "user: Well, I would say", "ended failed: media-lost"],
        ),
    ]);
    all
}

fn asides() -> Vec<Scenario> {
    vec![
        instead(
            "opt-out",
            "Please don't call me again.",
            &[
                HELLO,
                ASKS_DAY,
                "user: Please don't call me again.",
                "agent: Understood, we won't call you again. Goodbye.",
                DONE,
            ],
        ),
        instead(
            "call-me-later",
            "Could you call me later, please?",
            &[
                HELLO,
                ASKS_DAY,
                "user: Could you call me later, please?",
                "agent: Of course. When would suit you?",
                FRIDAY,
                "agent: Of course. We'll call you on Friday. Goodbye.",
                DONE,
            ],
        ),
        instead(
            "repeat-please",
            "Sorry, could you repeat that?",
            &[
                HELLO,
                ASKS_DAY,
                "user: Sorry, could you repeat that?",
                "agent: Of course. Hello, this is Ava from Greenfield Dental. Which day suits you for a visit?",
                FRIDAY,
                BYE,
                DONE,
            ],
        ),
        instead(
            "who-is-this",
            "Who is this?",
            &[
                HELLO,
                ASKS_DAY,
                "user: Who is this?",
                "agent: This is an automated call from Ava. Which day suits you for a visit?",
                FRIDAY,
                BYE,
                DONE,
            ],
        ),
        instead(
            "wrong-number",
            "I'm afraid you have the wrong number.",
            &[
                HELLO,
                ASKS_DAY,
                "user: I'm afraid you have the wrong number.",
                "agent: I'm sorry for the trouble. Goodbye.",
                DONE,
            ],
        ),
        instead(
            "says-goodbye",
            "Sorry, I have to go. Bye!",
            &[
                HELLO,
                ASKS_DAY,
                "user: Sorry, I have to go. Bye!",
                "agent: Thank you for your time. Goodbye!",
                DONE,
            ],
        ),
    ]
}
