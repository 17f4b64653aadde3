//! Answers with pauses and hesitations in them: none may be cut off, and none waited for longer than needed.

use super::{
    Scenario,
    common::{ASKS_DAY, ASKS_FIRST, BYE, DONE, FRIDAY, HELLO, YES, day_named, greeted, parts, say},
    setup::{Question, Setup},
};
use crate::exchange::Step;

/// About 35 s of talk.
const MONOLOGUE: &str = "Well, you know, it all began about three weeks ago when I was eating an apple in my \
     garden, and suddenly there was this sharp pain on the left side, so I stopped eating, and I went to the kitchen \
     to rinse it with cold water, which made it a good deal worse, and since then I cannot drink anything cold, and \
     at night it keeps me awake for hours, so I would be glad if somebody could look at it rather soon.";

fn paused(name: &'static str, setup: Setup, gap_ms: u64, groups: &[&str], expect: &'static [&'static str]) -> Scenario {
    Scenario::new(name, setup, greeted([parts(gap_ms, groups)]), expect)
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut all = two_parts();
    all.extend(by_eagerness());
    all.extend(short_answers());
    all.push(Scenario::new(
        "monologue",
        Setup::asking(&[Question::Trouble]),
        greeted([say(MONOLOGUE)]),
        &[
            HELLO,
            "agent: Hello, this is Ava from Greenfield Dental. What is the trouble with your teeth?",
            "user: Well, you know, it all began about three weeks ago when I was eating an apple in my garden, and \
             suddenly there was this sharp pain on the left side, so I stopped eating, and I went to the kitchen to \
             rinse it with cold water, which made it a good deal worse, and since then I cannot drink anything cold, \
             and at night it keeps me awake for hours, so I would be glad if somebody could look at it rather soon.",
            BYE,
            DONE,
        ],
    ));
    all
}

fn two_parts() -> Vec<Scenario> {
    vec![
        paused(
            "pause-400",
            Setup::day(),
            400,
            &["On Friday,", "I think."],
            &[HELLO, ASKS_DAY, "user: On Friday, I think.", BYE, DONE],
        ),
        paused(
            "pause-600",
            Setup::day(),
            600,
            &["It would be", "Friday."],
            &[HELLO, ASKS_DAY, "user: It would be Friday.", BYE, DONE],
        ),
        paused(
            "pause-800",
            Setup::day(),
            800,
            &["I would like to come on", "Friday."],
            &[HELLO, ASKS_DAY, "user: I would like to come on Friday.", BYE, DONE],
        ),
        paused(
            "pause-1000-hesitation",
            Setup::day(),
            1_000,
            &["Well, um,", "Friday."],
            &[HELLO, ASKS_DAY, "user: Well, um, Friday.", BYE, DONE],
        ),
        paused(
            "pause-1200",
            Setup::day(),
            1_200,
            &["My preferred day is", "Friday."],
            &[HELLO, ASKS_DAY, "user: My preferred day is Friday.", BYE, DONE],
        ),
        paused(
            "pause-1400-hesitation",
            Setup::day(),
            1_400,
            &["I think, um,", "Friday."],
            &[HELLO, ASKS_DAY, "user: I think, um, Friday.", BYE, DONE],
        ),
        paused(
            "pause-2000",
            Setup::day(),
            2_000,
            &["Either Thursday or", "Friday."],
            &[HELLO, ASKS_DAY, "user: Either Thursday or Friday.", BYE, DONE],
        ),
        paused(
            "three-parts",
            Setup::day(),
            700,
            &["Well, it depends on", "my work, and", "I would say Friday."],
            &[
                HELLO,
                ASKS_DAY,
                "user: Well, it depends on my work, and I would say Friday.",
                BYE,
                DONE,
            ],
        ),
    ]
}

fn by_eagerness() -> Vec<Scenario> {
    vec![
        paused(
            "eager-pause-400",
            Setup::day().eager(),
            400,
            &["It would be", "Friday."],
            &[HELLO, ASKS_DAY, "user: It would be Friday.", BYE, DONE],
        ),
        paused(
            "eager-hesitation-800",
            Setup::day().eager(),
            800,
            &["On, um,", "Friday."],
            &[HELLO, ASKS_DAY, "user: On, um, Friday.", BYE, DONE],
        ),
        Scenario::new(
            "eager-short",
            Setup::two().eager(),
            day_named([Step::UntilAgentSaid, say("Yes.")]),
            &[HELLO, ASKS_DAY, FRIDAY, ASKS_FIRST, YES, BYE, DONE],
        ),
        paused(
            "patient-plain-700",
            Setup::day().patient(),
            700,
            &["On Friday", "in the morning."],
            &[HELLO, ASKS_DAY, "user: On Friday in the morning.", BYE, DONE],
        ),
        paused(
            "patient-pause-2000",
            Setup::day().patient(),
            2_000,
            &["I would say on", "Friday."],
            &[HELLO, ASKS_DAY, "user: I would say on Friday.", BYE, DONE],
        ),
    ]
}

/// A word that is a backchannel elsewhere is an answer here.
fn short_answers() -> Vec<Scenario> {
    let answered = |name, word: &str, expect| {
        let steps = day_named([Step::UntilAgentSaid, say(word)]);
        Scenario::new(name, Setup::two(), steps, expect)
    };
    vec![
        answered(
            "answer-yes",
            "Yes.",
            &[HELLO, ASKS_DAY, FRIDAY, ASKS_FIRST, YES, BYE, DONE],
        ),
        answered(
            "answer-yeah",
            "Yeah.",
            &[HELLO, ASKS_DAY, FRIDAY, ASKS_FIRST, "user: Yeah.", BYE, DONE],
        ),
        answered(
            "answer-mm-hm",
            "Mm-hm.",
            &[HELLO, ASKS_DAY, FRIDAY, ASKS_FIRST, "user: Mm-hm.", BYE, DONE],
        ),
        answered(
            "answer-no",
            "No.",
            &[HELLO, ASKS_DAY, FRIDAY, ASKS_FIRST, "user: No.", BYE, DONE],
        ),
    ]
}
