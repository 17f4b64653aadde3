//! Coughs, clicks, hum, music and noise, over the agent and behind the callee: none is a turn, and none stops a reply
//! for good.

use super::{
    Scenario,
    common::{PLAIN, STOPPED_ONCE, greeted, in_second_question, interrupted, say, undisturbed},
    setup::Setup,
};
use crate::exchange::{LineSound, Step};

/// A sound in the second question.
fn in_reply(name: &'static str, sound: Step, expect: &'static [&'static str]) -> Scenario {
    in_second_question(name, [Step::IntoSpeechMs(800), sound], expect)
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

/// A sound that is there all the time.
fn behind(mut scenario: Scenario, line: LineSound) -> Scenario {
    scenario.script.line = line;
    scenario
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let quiet = LineSound::default();
    let burst = |ms, dbfs| Step::NoiseBurst { ms, dbfs };
    let mut all = vec![
        in_reply("cough-in-reply", Step::Cough, STOPPED_ONCE),
        in_reply("click-in-reply", Step::Click, PLAIN),
        in_reply("noise-in-reply", burst(400, -26.0), PLAIN),
        before_answer("cough-before-answer", Step::Cough),
        before_answer("hum-before-answer", Step::Hum { ms: 1_500 }),
        before_answer("music-before-answer", Step::Music { ms: 3_000 }),
        before_answer("noise-before-answer", burst(1_000, -30.0)),
        behind(
            undisturbed("pink-noise"),
            LineSound {
                noise_dbfs: Some(-35.0),
                ..quiet
            },
        ),
        behind(
            undisturbed("pink-noise-loud"),
            LineSound {
                noise_dbfs: Some(-30.0),
                ..quiet
            },
        ),
        behind(
            undisturbed("hum-on-the-line"),
            LineSound {
                hum_dbfs: Some(-35.0),
                ..quiet
            },
        ),
        behind(
            undisturbed("music-on-the-line"),
            LineSound {
                music_dbfs: Some(-38.0),
                ..quiet
            },
        ),
    ];
    all.push(behind(
        interrupted("interrupt-in-noise"),
        LineSound {
            noise_dbfs: Some(-35.0),
            ..quiet
        },
    ));
    all
}
