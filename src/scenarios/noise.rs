//! Coughs, clicks, hum, music and noise, over the agent and behind the callee: none is a turn, and none stops a reply
//! for good.

use super::{
    Scenario,
    common::{ASKS_DAY, ASKS_FIRST, BYE, DONE, FRIDAY, HELLO, YES, day_named, greeted, say},
    setup::Setup,
};
use crate::exchange::{LineSound, Step};

/// The quiet conversation.
const PLAIN: &[&str] = &[HELLO, ASKS_DAY, FRIDAY, ASKS_FIRST, YES, BYE, DONE];

/// A sound in the second question.
fn in_reply(name: &'static str, sound: Step, expect: &'static [&'static str]) -> Scenario {
    let steps = day_named([Step::IntoSpeechMs(800), sound, Step::UntilAgentSaid, say("Yes.")]);
    Scenario::new(name, Setup::two(), steps, expect)
}

/// A sound where an answer is awaited.
fn before_answer(name: &'static str, sound: Step) -> Scenario {
    let steps = greeted([
        sound,
        Step::WaitMs(600),
        say("Friday."),
        Step::UntilAgentSaid,
        say("Yes."),
    ]);
    Scenario::new(name, Setup::two(), steps, PLAIN)
}

/// The same sound all the time.
fn behind(name: &'static str, line: LineSound) -> Scenario {
    let steps = day_named([Step::UntilAgentSaid, say("Yes.")]);
    let mut scenario = Scenario::new(name, Setup::two(), steps, PLAIN);
    scenario.script.line = line;
    scenario
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let quiet = LineSound::default();
    let stopped: &[&str] = &[HELLO, ASKS_DAY, FRIDAY, ASKS_FIRST, "paused", "resumed", YES, BYE, DONE];
    let burst = |ms, dbfs| Step::NoiseBurst { ms, dbfs };
    let mut all = vec![
        in_reply("cough-in-reply", Step::Cough, stopped),
        in_reply("click-in-reply", Step::Click, PLAIN),
        in_reply("noise-in-reply", burst(400, -26.0), PLAIN),
        before_answer("cough-before-answer", Step::Cough),
        before_answer("hum-before-answer", Step::Hum { ms: 1_500 }),
        before_answer("music-before-answer", Step::Music { ms: 3_000 }),
        before_answer("noise-before-answer", burst(1_000, -30.0)),
        behind(
            "pink-noise",
            LineSound {
                noise_dbfs: Some(-35.0),
                ..quiet
            },
        ),
        behind(
            "pink-noise-loud",
            LineSound {
                noise_dbfs: Some(-30.0),
                ..quiet
            },
        ),
        behind(
            "hum-on-the-line",
            LineSound {
                hum_dbfs: Some(-35.0),
                ..quiet
            },
        ),
        behind(
            "music-on-the-line",
            LineSound {
                music_dbfs: Some(-38.0),
                ..quiet
            },
        ),
    ];
    all.push(interrupted_in_noise());
    all
}

fn interrupted_in_noise() -> Scenario {
    let steps = day_named([
        Step::IntoSpeechMs(1_000),
        say("Sorry, could you say that again?"),
        Step::UntilAgentSaid,
        say("Yes."),
    ]);
    let expect = &[
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
    ];
    let mut scenario = Scenario::new("interrupt-in-noise", Setup::two(), steps, expect);
    scenario.script.line.noise_dbfs = Some(-35.0);
    scenario
}
