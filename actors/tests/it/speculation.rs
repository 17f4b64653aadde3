//! Replies made ahead in a pause, by the whole call actor: faster if the guess was right, harmless if not.

use std::time::Duration;

use actors::call::Speculation;
use domain::ports::language_model::{HistoryItem, LanguageError};
use testkit::fake_language::ScriptedReply;

use crate::call_support::{TestCall, greeter, ms};

fn slow(text: &str) -> ScriptedReply {
    ScriptedReply::text(text).with_gap(Duration::from_millis(300))
}

/// Lets the user say `words` and fall silent. The pause lasts `pause_ms`, and the turn ends with `settled`.
async fn user_says(test: &TestCall, words: &str, pause_ms: u64, settled: &str) {
    test.stream.user_begins();
    ms(500).await;
    test.stream.user_pauses(words);
    ms(pause_ms).await;
    test.stream.user_ends(settled, 500);
    ms(5).await;
}

#[tokio::test(start_paused = true)]
async fn the_pause_hides_the_time_the_model_takes() {
    for (mode, sooner) in [
        (Speculation::Off, false),
        (Speculation::Text, true),
        (Speculation::Voice, true),
    ] {
        let test = TestCall::greeted_with(greeter(), mode).await;
        test.ports.language_model.script(slow("It is a survey."));
        user_says(&test, "what is it", 400, "What is it?").await;
        assert_eq!(test.stream.said().len() == 2, sooner, "{mode:?}");
        ms(3_000).await;
        assert_eq!(test.stream.said()[1..], ["It is a survey."], "{mode:?}");
        assert_eq!(test.ports.language_model.requests().len(), 1, "{mode:?}");
        assert_eq!(
            test.transcript()[1..],
            ["User: What is it?", "Agent: It is a survey."],
            "{mode:?}"
        );
        let used = test.events().contains(&"speculation_used".to_owned());
        assert_eq!(used, sooner);
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_first_piece_is_given_to_the_voice_ahead() {
    let test = TestCall::greeted(greeter()).await;
    test.ports
        .language_model
        .script(ScriptedReply::text("One. Two. Three."));
    test.stream.user_begins();
    test.stream.user_pauses("Count.");
    ms(300).await;
    assert_eq!(test.stream.held().as_deref(), Some("One. "));
    assert_eq!(test.stream.said().len(), 1);
    test.stream.user_ends("Count.", 500);
    ms(3_000).await;
    assert_eq!(test.stream.said()[1..], ["One. Two. Three."]);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_guess_is_neither_heard_nor_remembered() {
    let test = TestCall::greeted(greeter()).await;
    test.ports.language_model.script(ScriptedReply::text("A wrong answer."));
    test.ports
        .language_model
        .script(ScriptedReply::text("The right answer."));
    test.stream.user_begins();
    ms(300).await;
    test.stream.user_pauses("My name");
    ms(200).await;
    assert!(test.stream.held().is_some());
    test.stream.user_resumes();
    ms(10).await;
    assert_eq!(test.stream.held(), None);
    ms(400).await;
    test.stream.user_ends("My name is Bo.", 900);
    ms(4_000).await;
    assert_eq!(test.stream.said()[1..], ["The right answer."]);
    assert_eq!(
        test.transcript()[1..],
        ["User: My name is Bo.", "Agent: The right answer."]
    );
    let requests = test.ports.language_model.requests();
    let of = |n: usize| match requests[n].history.last() {
        Some(HistoryItem::Said { text, .. }) => text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((of(0), of(1)), ("My name".into(), "My name is Bo.".into()));
    assert!(test.events().contains(&"speculation_wasted".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_ahead_is_asked_again_without_an_apology() {
    let test = TestCall::greeted(greeter()).await;
    for _ in 0..2 {
        let broken = ScriptedReply::error(LanguageError::Unavailable("500".into()));
        test.ports.language_model.script(broken);
        test.ports.language_model.script(ScriptedReply::text("Very well."));
        user_says(&test, "Hello there.", 300, "Hello there.").await;
        ms(3_000).await;
        assert_eq!(test.stream.said().last().unwrap(), "Very well.");
    }
    assert_eq!(test.ended(), None);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_in_the_pause_leaves_no_reply_behind() {
    let test = TestCall::greeted(greeter()).await;
    test.ports.language_model.script(slow("Never said."));
    test.stream.user_begins();
    test.stream.user_pauses("Wait.");
    ms(100).await;
    test.hang_up();
    ms(2_000).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
    assert_eq!(test.stream.said().len(), 1);
    assert_eq!(test.transcript().len(), 1);
    assert_eq!(std::sync::Arc::strong_count(&test.ports.language_model), 1);
}
