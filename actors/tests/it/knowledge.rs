//! The content of an agent's documents reaches each of its replies, and missing documents fail no call.

use std::time::Duration;

use domain::{
    agent::Agent,
    knowledge::{Document, Knowledge},
};
use testkit::fake_language::ScriptedReply;

use crate::call_support::{TestCall, greeter, ms};

fn holding() -> Agent {
    let mut agent = greeter();
    agent.conversation_config.agent.prompt.knowledge_base = vec!["hours".into()];
    agent
}

fn hours() -> Vec<Document> {
    vec![Document {
        name: "Hours".into(),
        text: "We are open from nine to five.".into(),
    }]
}

/// Lets the user say this and the agent answer.
async fn exchange(test: &TestCall, words: &str) {
    test.ports.language_model.script(ScriptedReply::text("I see."));
    test.stream.user_begins();
    ms(500).await;
    test.stream.user_pauses(words);
    ms(300).await;
    test.stream.user_ends(words, 500);
    ms(3_000).await;
}

fn given(test: &TestCall) -> Vec<Knowledge> {
    let requests = test.ports.language_model.requests();
    requests.into_iter().map(|request| request.knowledge).collect()
}

async fn opens_media(test: &TestCall) {
    test.open_media().await;
    ms(2_000).await;
}

#[tokio::test(start_paused = true)]
async fn each_reply_is_given_what_fits_its_words_also_one_made_ahead() {
    let test = TestCall::start(holding(), async |ports, _| ports.knowledge.holds(hours())).await;
    ms(100).await;
    opens_media(&test).await;
    exchange(&test, "What are your opening hours?").await;
    exchange(&test, "My name is Maria.").await;
    let given = given(&test);
    assert_eq!(given.len(), 2);
    assert!(
        test.events().contains(&"speculation_used".to_owned()),
        "{:?}",
        test.events()
    );
    assert_eq!(given[0].answer.as_deref(), Some("We are open from nine to five."));
    assert_eq!(given[1].answer, None);
    assert!(
        given
            .iter()
            .all(|one| one.whole.as_ref().is_some_and(|all| all.len() == 1)),
        "{given:?}"
    );
    assert_eq!(test.ports.knowledge.asked(), 1, "opened once for the whole call");
}

#[tokio::test(start_paused = true)]
async fn documents_that_cannot_be_read_cost_no_call_and_are_tried_again() {
    let test = TestCall::start(holding(), async |ports, _| {
        ports.knowledge.holds(hours());
        ports.knowledge.set_unavailable(true);
    })
    .await;
    ms(100).await;
    opens_media(&test).await;
    exchange(&test, "What are your opening hours?").await;
    assert_eq!(given(&test), [Knowledge::default()]);
    assert_eq!(test.transcript().last().map(String::as_str), Some("Agent: I see."));
    test.ports.knowledge.set_unavailable(false);
    tokio::time::sleep(Duration::from_secs(9)).await;
    exchange(&test, "So when are you open?").await;
    assert!(given(&test)[1].whole.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_agent_without_documents_asks_nobody_for_them() {
    let test = TestCall::greeted(greeter()).await;
    exchange(&test, "What are your opening hours?").await;
    assert_eq!(given(&test), [Knowledge::default()]);
    assert_eq!(test.ports.knowledge.asked(), 0);
}
