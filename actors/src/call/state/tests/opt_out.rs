//! Wishes never to be called again, phase by phase.

use super::*;
use media::turn::endpointing::Utterance;

fn opting(phase: CallPhase) -> State {
    let mut state = at(phase);
    state.rules.smart_opt_out = true;
    state
}

pub(super) fn written(effects: &[Effect]) -> usize {
    effects.iter().filter(|effect| **effect == Effect::WriteOptOut).count()
}

fn says(effects: &[Effect]) -> Vec<&str> {
    let said = effects.iter().filter_map(|effect| match effect {
        Effect::Say(Say { text, .. }) => Some(text.as_str()),
        _ => None,
    });
    said.collect()
}

const CLEAR: &str = "Stop calling me.";
pub(super) const LIKELY: &str = "Leave me alone.";

#[test]
fn a_clear_wish_is_written_and_promised_wherever_both_are_on_the_line() {
    use CallPhase::{Answered, Closing, Greeting, Listening, Operator, Speaking, Thinking};
    for phase in PHASES {
        let (state, effects) = opting(phase).apply(said(CLEAR), 2_000);
        let talks = [Answered, Greeting, Listening, Thinking, Speaking].contains(&phase);
        assert_eq!(
            written(&effects),
            usize::from(talks || [Closing, Operator].contains(&phase)),
            "{phase:?}"
        );
        if talks {
            assert_eq!(
                says(&effects),
                ["Understood, we won't call you again. Goodbye."],
                "{phase:?}"
            );
            assert_eq!(state.phase(), Closing, "{phase:?}");
        }
        let (_, again) = state.apply(said(CLEAR), 2_100);
        assert_eq!(written(&again), 0, "once is enough");
        let (_, effects) = at(phase).apply(said(CLEAR), 2_000);
        assert_eq!(written(&effects), 0, "not without `smartOptOut`");
    }
}

#[test]
fn a_likely_wish_is_asked_about_and_the_answer_counts() {
    use CallPhase::{Closing, Listening, Speaking, Thinking};
    for (answer, wished) in [("Yes.", true), ("No, go on.", false), ("Hm?", false)] {
        let (state, effects) = opting(Listening).apply(said(LIKELY), 2_000);
        assert_eq!((written(&effects), state.phase()), (0, Speaking));
        assert_eq!(says(&effects), ["Do you want us never to call you again?"]);
        // During the question, or after it.
        let (over, _) = state.clone().apply(said(answer), 2_100);
        let (state, _) = state.apply(ended(1), 3_000);
        assert_eq!(state.phase(), Listening);
        let (after, effects) = state.apply(said(answer), 4_000);
        assert_eq!(written(&effects), usize::from(wished), "{answer}");
        assert_eq!(after.phase(), if wished { Closing } else { Thinking });
        assert_eq!(over.phase() == Closing, wished, "{answer}");
    }
}

#[test]
fn silence_and_a_hang_up_after_the_question_are_no_wish() {
    let (state, _) = opting(CallPhase::Listening).apply(said(LIKELY), 2_000);
    let (state, _) = state.apply(ended(1), 3_000);
    let (state, _) = state.clone().apply(Event::Timer(CallTimer::Turn), 9_000);
    let (state, effects) = state.apply(said("Yes."), 10_000);
    assert_eq!(written(&effects), 0, "yes to whatever the agent said then");
    let bye = Event::Stream(StreamEvent::MediaClosed { clean: true });
    let (_, effects) = state.apply(bye, 11_000);
    assert_eq!(written(&effects), 0);
}

#[test]
fn keys_say_no_words() {
    let typed = Utterance {
        text: CLEAR.to_owned(),
        damaged: false,
        started_ms: 0,
        ended_ms: 1,
        final_ms: None,
    };
    let mut state = opting(CallPhase::Listening);
    talk::on_utterance(&mut state, &typed, true);
    assert_eq!(written(&state.fx), 0);
}
