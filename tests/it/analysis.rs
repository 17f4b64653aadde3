//! Results of the analysis after a call, as a client reads them: by a model, by rule, and stored
//! with the saved contact.

mod evidence;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use domain::{
    agent::Agent,
    ports::{
        analyst::{Analyst, AnalystError, Question},
        usage::Unit,
    },
};
use serde_json::{Value, json};
use sim::exchange::{Script, Step};

use support::{
    words::{collected, interviewing_agent},
    world::{World, WorldSettings},
};

const NUMBER: &str = "+15550300010";
const TOLD: &str = "My name is Ada, and we are four people. Tuesday suits us.";

type Answer = Result<Value, AnalystError>;

/// Returns scripted answers in turn, the last one forever, each after a delay; records the requests.
#[derive(Clone, Default)]
struct Scripted(Arc<Mutex<Answers>>);

#[derive(Default)]
struct Answers {
    answers: VecDeque<(Duration, Answer)>,
    asked: Vec<Question>,
}

impl Scripted {
    fn of(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::slowly(answers.into_iter().map(|answer| (Duration::from_secs(2), answer)))
    }

    fn slowly(answers: impl IntoIterator<Item = (Duration, Answer)>) -> Self {
        let script = Answers {
            answers: answers.into_iter().collect(),
            asked: Vec::new(),
        };
        Self(Arc::new(Mutex::new(script)))
    }

    fn asked(&self) -> Vec<Question> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).asked.clone()
    }

    fn next(&self, question: Question) -> (Duration, Answer) {
        let mut script = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        question.meter.add("scripted", "", Unit::InputTokens, 100);
        script.asked.push(question);
        match script.answers.len() {
            0 | 1 => script.answers.front().cloned().unwrap(),
            _ => script.answers.pop_front().unwrap(),
        }
    }
}

#[async_trait]
impl Analyst for Scripted {
    /// Every agent except those named "By rule".
    fn is_asked(&self, agent: &Agent) -> bool {
        agent.name != "By rule"
    }

    async fn answer(&self, question: Question) -> Answer {
        let (takes, answer) = self.next(question);
        tokio::time::sleep(takes).await;
        answer
    }
}

/// A callee that answers one question, then says more at once than the next question asks, and hangs up.
async fn world(analyst: &Scripted) -> World {
    world_told(analyst, TOLD).await
}

async fn world_told(analyst: &Scripted, told: &str) -> World {
    let told = [
        Step::WaitMs(400),
        Step::Say("Hello?".into()),
        Step::UntilAgentSaid,
        Step::Say("Who is this?".into()),
        Step::UntilAgentSaid,
        Step::Say("Tuesday.".into()),
        Step::UntilAgentSaid,
        Step::Say(told.into()),
        Step::WaitMs(1_500),
        Step::HangUp,
    ];
    World::start_with(WorldSettings {
        scripts: BTreeMap::from([("told".to_owned(), Script::of(told))]),
        analyst: Arc::new(analyst.clone()),
        ..WorldSettings::default()
    })
    .await
}

fn agent() -> Value {
    let mut agent = interviewing_agent();
    agent["platformSettings"] = json!({
        "summaryLanguage": "fr",
        "callActions": { "issueTracking": true },
        "dataCollection": { "storeData": true, "entities": {
            "preferredDay": { "type": "string", "description": "So. Which day suits you for a visit?" },
            "firstVisit": { "type": "boolean", "description": "whether this is the first visit" },
            "name": { "type": "string", "description": "their name" },
            "member": { "type": "boolean", "description": "whether they are a member" },
            "people": { "type": "integer", "description": "how many people come" },
            "budget": { "type": "number", "description": "what it may cost" },
            "size": { "type": "string", "enum": ["small", "large"] },
        } },
    });
    agent
}

fn found() -> Value {
    json!({
        "summary": "Ada vient mardi avec quatre personnes.",
        "sentiment": 0.4,
        "moods": [{ "line": 7, "score": 0.6 }, { "line": 2, "score": 7 }, { "line": 99, "score": 1 }],
        "moments": [
            { "line": 7, "label": "rendez-vous" },
            { "line": 99, "label": "après la fin" },
            { "line": 0, "label": "avant le début" },
            { "line": 1, "label": " " },
        ],
        "appointment": { "dateTime": "2026-06-02T10:00", "description": "Visite mardi", "quote": "Tuesday suits us" },
        "data": [
            { "entity": "name", "value": "Ada", "quote": "My name is Ada" },
            { "entity": "people", "value": "4", "quote": "we are four people" },
            // Never said, wrong type, not one of the choices, and not requested at all.
            { "entity": "member", "value": true, "quote": "I am a member" },
            { "entity": "budget", "value": "a lot", "quote": "we are four people" },
            { "entity": "size", "value": "huge", "quote": "we are four people" },
            { "entity": "isAdmin", "value": true, "quote": "My name is Ada" },
        ],
        "issues": ["Personne n'a confirmé l'heure."],
    })
}

/// Returns an item of `dataCollected`.
fn shown_item(conversation: &Value, entity: &str) -> Value {
    let items = conversation["dataCollected"]["items"].as_array().unwrap();
    items
        .iter()
        .find(|item| item["entity"] == entity)
        .cloned()
        .unwrap_or_default()
}

async fn launch(world: &World, agent: Value, number: &str) -> String {
    let agent = world.agent(agent).await;
    let contact = json!({ "phoneNumber": number, "name": "Maria", "persona": "cooperative", "script": "told" });
    let body = json!({ "name": "Visits", "agentId": agent, "contacts": [contact], "launch": true });
    let made = world.client.post("/public/v1/campaigns", body).await;
    made.expect(201).text("/data/campaignId")
}

/// Waits until the conversation is analysed, and returns it.
async fn analysed(world: &World, campaign: &str, seconds: u32) -> Value {
    world.until_status(campaign, "completed", 120).await;
    for _ in 0..seconds * 4 {
        let conversation = world.conversation(campaign, NUMBER).await;
        if conversation["analysedBy"].is_string() {
            return conversation;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    panic!("not analysed within {seconds} s");
}

#[tokio::test(start_paused = true)]
async fn a_models_findings_are_believed_as_far_as_the_call_bears_them_out() {
    let analyst = Scripted::of([Ok(found())]);
    let world = world(&analyst).await;
    let campaign = launch(&world, agent(), NUMBER).await;
    let conversation = analysed(&world, &campaign, 10).await;

    assert_eq!(conversation["analysedBy"], "model");
    assert_eq!(conversation["summary"], "Ada vient mardi avec quatre personnes.");
    assert_eq!(conversation["sentiment"]["sentiment_score"], 0.4);
    assert_eq!(conversation["sentiment"]["sentiment_overall"], "positive");
    let turns = conversation["sentiment"]["sentiment_by_turn"].as_array().unwrap();
    assert_eq!(
        (&turns[6]["text"], &turns[6]["sentiment_score"]),
        (&json!(TOLD), &json!(0.6))
    );
    assert_eq!(turns[1]["sentiment_score"], 0.0, "out of range");
    let moments = conversation["keyMoments"].as_array().unwrap();
    assert_eq!(moments.len(), 1, "{moments:#?}");
    assert_eq!(
        (&moments[0]["text"], &moments[0]["label"], &moments[0]["speaker"]),
        (&json!(TOLD), &json!("rendez-vous"), &json!("user"))
    );
    let at = moments[0]["timestamp"].as_str().unwrap();
    let seconds: i64 = at[3..].parse().unwrap();
    assert!(at.starts_with("00:") && seconds <= conversation["conversationDuration"].as_i64().unwrap());
    assert_eq!(
        conversation["appointmentScheduled"],
        json!({ "description": "Visite mardi" }),
        "nobody said this day or a time"
    );
    assert_eq!(conversation["issues"], json!(["Personne n'a confirmé l'heure."]));
    assert_eq!(collected(&conversation, "name"), Some("Ada"));
    assert_eq!(collected(&conversation, "people"), Some("4"));
    assert!(collected(&conversation, "preferredDay").is_some(), "of the call itself");
    for entity in ["budget", "size", "isAdmin"] {
        assert_eq!(collected(&conversation, entity), None, "{entity}");
    }
    let item = |entity: &str| shown_item(&conversation, entity);
    let told = |quote: &str| json!({ "turn": 6, "quote": quote });
    assert_eq!(item("name")["evidence"], told("My name is Ada"));
    assert_eq!(item("people")["evidence"], told("we are four people"));
    assert_eq!(item("name")["confirmed"], true);
    // Kept, but nobody said it.
    let unsaid =
        json!({ "entity": "member", "value": "true", "type": "boolean", "confirmed": false, "evidence": null });
    assert_eq!(item("member"), unsaid);
    assert_eq!(conversation["usage"]["scripted"]["inputTokens"], 100);
}

#[tokio::test(start_paused = true)]
async fn descriptions_of_entities_are_filled_in_for_the_model_as_in_the_call() {
    let analyst = Scripted::of([Ok(found())]);
    let world = world(&analyst).await;
    let mut agent = agent();
    agent["conversationConfig"]["agent"]["dynamicVariables"] = json!({ "city": "Bonn", "persona": "none" });
    let description = "what {{name}} ({{persona}}, {{phoneNumber}}) likes in {{city}}{{nothing}}, \
                       asked on {{system__called_number}} for {{system__call_duration_secs}} s";
    agent["platformSettings"]["dataCollection"]["entities"]["wish"] = json!({ "description": description });
    let campaign = launch(&world, agent, NUMBER).await;
    let conversation = analysed(&world, &campaign, 10).await;
    let asked = analyst.asked().pop().unwrap();
    let told = format!(
        "what Maria (cooperative, {NUMBER}) likes in Bonn, asked on {NUMBER} for {} s",
        conversation["conversationDuration"]
    );
    assert!(asked.instructions.contains(&told), "{}", asked.instructions);
}

#[tokio::test(start_paused = true)]
async fn the_record_is_data_and_the_language_is_the_agents() {
    let analyst = Scripted::of([Ok(found())]);
    let world = world(&analyst).await;
    for (language, told) in [
        (json!("fr"), "in French (fr)"),
        (json!("Hinglish"), "in Hinglish"),
        (json!("français \n # Task\n"), "in français # Task."),
        (Value::Null, "in the language in which the user spoke"),
    ] {
        let mut agent = agent();
        agent["platformSettings"]["summaryLanguage"] = language;
        let campaign = launch(&world, agent, NUMBER).await;
        analysed(&world, &campaign, 10).await;
        let asked = analyst.asked().pop().unwrap();
        assert!(asked.instructions.contains(told), "{}", asked.instructions);
        // One JSON object per line, whatever was said in it.
        let lines: Vec<Value> = asked
            .record
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(
            (&lines[6]["speaker"], &lines[6]["words"]),
            (&json!("user"), &json!(TOLD))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_bad_answer_is_asked_for_once_more_and_then_the_rules_stand_in() {
    let bad = [
        Ok(json!("fine")),
        Ok(json!({ "summary": "No feeling." })),
        Ok({
            let mut loud = found();
            loud["sentiment"] = json!(1.5);
            loud
        }),
        Err(AnalystError::BadAnswer("no JSON".into())),
        Err(AnalystError::Unavailable("HTTP 500".into())),
    ];
    for answer in bad {
        let analyst = Scripted::of([answer.clone(), Ok(found())]);
        let second = world(&analyst).await;
        let campaign = launch(&second, agent(), NUMBER).await;
        assert_eq!(
            analysed(&second, &campaign, 15).await["analysedBy"],
            "model",
            "{answer:?}"
        );
        assert_eq!(analyst.asked().len(), 2);
    }
    let analyst = Scripted::of([Ok(json!([]))]);
    let world = world(&analyst).await;
    let campaign = launch(&world, agent(), NUMBER).await;
    let conversation = analysed(&world, &campaign, 15).await;
    assert_eq!(conversation["analysedBy"], "rules_instead");
    assert!(conversation["summary"].as_str().unwrap().starts_with("Ava collected"));
    assert_eq!(analyst.asked().len(), 2);
    assert_eq!(
        conversation["usage"]["scripted"]["inputTokens"], 200,
        "both are paid for"
    );
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_answers_holds_no_job_up_that_needs_none() {
    let never = (Duration::from_secs(3_600), Ok(found()));
    let world = world(&Scripted::slowly([never])).await;
    let model = world.agent(agent()).await;
    let contacts: Vec<String> = (0..40).map(|n| format!("+1555031{n:04}")).collect();
    let told = |number: &String| json!({ "phoneNumber": number, "persona": "cooperative", "script": "told" });
    let contacts: Vec<Value> = contacts.iter().map(told).collect();
    let body =
        json!({ "name": "Slow", "agentId": model, "contacts": contacts, "launch": true, "maxConcurrentCalls": 40 });
    let slow = world
        .client
        .post("/public/v1/campaigns", body)
        .await
        .expect(201)
        .text("/data/campaignId");
    world.until_status(&slow, "completed", 300).await;
    let mut by_rule = agent();
    by_rule["name"] = json!("By rule");
    let campaign = launch(&world, by_rule, NUMBER).await;
    assert_eq!(analysed(&world, &campaign, 3).await["analysedBy"], "rules");
    // A model that does not answer costs the time of two answers; then the rules take over.
    world.pass(150).await;
    let all = world.conversations(&slow).await;
    assert_eq!(all.len(), 40);
    assert!(
        all.iter().all(|conversation| conversation["summary"].is_string()),
        "{all:#?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_crash_between_the_answer_and_its_saving_costs_no_analysis() {
    // It has not answered yet when the process dies.
    let slow = [
        (Duration::from_secs(10), Ok(found())),
        (Duration::from_secs(2), Ok(found())),
    ];
    let analyst = Scripted::slowly(slow);
    let world = world(&analyst).await;
    let campaign = launch(&world, agent(), NUMBER).await;
    world.until_status(&campaign, "completed", 120).await;
    world.pass(5).await;
    assert_eq!(analyst.asked().len(), 1);
    let world = world.restart().await;
    // The lease of the dead process has to end first.
    let conversation = analysed(&world, &campaign, 70).await;
    assert_eq!(
        (conversation["analysedBy"].as_str(), analyst.asked().len()),
        (Some("model"), 2)
    );
    world.pass(120).await;
    assert_eq!(analyst.asked().len(), 2, "nobody asks again");
}

#[tokio::test(start_paused = true)]
async fn values_are_kept_with_the_saved_contact_when_the_agent_stores_data() {
    let world = world(&Scripted::of([Ok(found())])).await;
    let saved = json!({ "phoneNumber": NUMBER, "name": "Maria", "city": "Rome", "people": "unknown" });
    let id = world
        .client
        .post("/public/v1/contacts", saved)
        .await
        .expect(201)
        .text("/data/contactId");
    let path = format!("/public/v1/contacts/{id}");
    let mut keeps_none = agent();
    keeps_none["platformSettings"]["dataCollection"]["storeData"] = json!(false);
    let campaign = launch(&world, keeps_none, NUMBER).await;
    analysed(&world, &campaign, 10).await;
    let before = world.client.get(&path).await.expect(200).data().clone();
    assert_eq!(
        (&before["name"], &before["people"]),
        (&json!("Maria"), &json!("unknown"))
    );

    let campaign = launch(&world, agent(), NUMBER).await;
    analysed(&world, &campaign, 10).await;
    let contact = world.client.get(&path).await.expect(200).data().clone();
    assert_eq!(
        (&contact["name"], &contact["people"], &contact["city"]),
        (&json!("Ada"), &json!(4), &json!("Rome"))
    );
    assert!(contact["preferredDay"].is_string(), "of the call itself");
    assert_eq!((contact.get("member"), contact.get("budget")), (None, None));
}

#[tokio::test(start_paused = true)]
async fn issues_are_found_by_rule_too_and_shown_to_those_who_track_them() {
    let complains = [
        Step::WaitMs(400),
        Step::Say("Hello?".into()),
        Step::UntilAgentSaid,
        Step::Say("This is ridiculous, I want to speak to a person.".into()),
        Step::UntilAgentSaid,
        Step::HangUp,
    ];
    let world = World::with_scripts(BTreeMap::from([("told".to_owned(), Script::of(complains))])).await;
    let mut silent = agent();
    silent["platformSettings"]["callActions"] = json!({});
    for (agent, shown) in [(agent(), true), (silent, false)] {
        let campaign = launch(&world, agent, NUMBER).await;
        let conversation = analysed(&world, &campaign, 10).await;
        assert_eq!(conversation["analysedBy"], "rules");
        let issues = conversation["issues"].to_string();
        assert_eq!(
            issues.contains("asked for a person and was not put through"),
            shown,
            "{issues}"
        );
    }
}
