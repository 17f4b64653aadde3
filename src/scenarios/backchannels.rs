//! Signs of listening while the agent talks: it may stop for a moment, never for good.

use super::{
    Scenario,
    common::{ASKS_DAY, ASKS_FIRST, BYE, DONE, FRIDAY, HELLO, YES, day_named, murmur, say, until_word},
    setup::Setup,
};
use crate::exchange::Step;

/// "Mm-hm" in the second question.
fn in_reply(name: &'static str, steps: Vec<Step>, expect: &'static [&'static str]) -> Scenario {
    let mut all = day_named(steps);
    all.extend([Step::UntilAgentSaid, say("Yes.")]);
    Scenario::new(name, Setup::two(), all, expect)
}

const ONCE: &[&str] = &[HELLO, ASKS_DAY, FRIDAY, ASKS_FIRST, "paused", "resumed", YES, BYE, DONE];

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        in_reply("mm-hm-early", vec![Step::IntoSpeechMs(200), murmur("Mm-hm.")], ONCE),
        in_reply("mm-hm-middle", vec![Step::IntoSpeechMs(1_200), murmur("Mm-hm.")], ONCE),
        in_reply("mm-hm-late", vec![until_word("your"), murmur("Mm-hm.")], ONCE),
        in_reply("okay", vec![Step::IntoSpeechMs(900), murmur("Okay.")], ONCE),
        in_reply(
            "yeah-right",
            vec![Step::IntoSpeechMs(600), murmur("Yeah, right.")],
            ONCE,
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
