//! Mail about a call: the results of a conversation as text and HTML. A caller may have said any of it, or a
//! customer written it, so none of it may act as markup or as a header.

use std::collections::BTreeMap;

use domain::{
    agent::{self, Agent},
    call_values::{CallFacts, system_values},
    deliveries::MailTarget,
    ports::store::{Delivery, Store, StoreError, StoreResult},
    template::{self, Place},
};
use lettre::{
    Message,
    address::AddressError,
    message::{Mailbox, MultiPart, header},
};
use serde_json::{Map, Value};

/// Reason why a mail cannot be composed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ComposeError {
    #[error("`{text}`: {error}")]
    Address { text: String, error: AddressError },
    #[error(transparent)]
    ContentType(#[from] header::ContentTypeErr),
    #[error(transparent)]
    Message(#[from] lettre::error::Error),
}

impl ComposeError {
    /// Returns the error of a text that is no address.
    pub(super) fn of_address(text: &str, error: AddressError) -> Self {
        let text = text.to_owned();
        Self::Address { text, error }
    }
}

/// Values of the placeholders in the subject.
type Values = BTreeMap<String, String>;

/// Line of the overview.
type Fact = (String, String);

/// Composes the message. Its id is the same in all tries, so that mailboxes can recognise a repetition.
///
/// # Errors
///
/// Returns an error if an address is invalid or there is no recipient.
pub(super) fn compose(
    from: &Mailbox,
    target: &MailTarget,
    delivery: &Delivery,
    told: &Value,
    values: &Values,
) -> Result<Message, ComposeError> {
    let address = |text: &String| {
        text.trim()
            .parse::<Mailbox>()
            .map_err(|error| ComposeError::of_address(text, error))
    };
    let mut builder = Message::builder()
        .from(from.clone())
        .message_id(Some(format!("<{}@{}>", delivery.id, from.email.domain())))
        .date_now()
        .raw_header(header::HeaderValue::new(
            header::HeaderName::new_from_ascii_str("Auto-Submitted"),
            "auto-generated".to_owned(),
        ))
        .subject(subject(target, told, values));
    for to in &target.to {
        builder = builder.to(address(to)?);
    }
    for cc in &target.cc {
        builder = builder.cc(address(cc)?);
    }
    let transcript = told["transcript"].as_str().filter(|_| target.include_transcript);
    let (facts, collected) = (facts(told), collected(told));
    let parts = MultiPart::alternative_plain_html(
        plain(told, &facts, &collected, transcript),
        html(told, &facts, &collected, transcript),
    );
    Ok(builder.multipart(parts)?)
}

/// Returns the subject as one line without control characters, whatever values were filled in.
fn subject(target: &MailTarget, told: &Value, values: &Values) -> String {
    let given = target.subject.as_deref().filter(|text| !text.trim().is_empty());
    let filled = given.map(|text| template::render(Place::MailSubject, text, values));
    let filled = filled.filter(|text| !text.trim().is_empty());
    let text = filled.unwrap_or_else(|| {
        let agent = told["agentName"].as_str().unwrap_or("Ringback");
        let status = told["status"].as_str().unwrap_or_default();
        format!("{agent}: call with {}, {status}", person(told))
    });
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let line = words
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    line.chars().take(template::SUBJECT_CHARS).collect()
}

fn person(told: &Value) -> String {
    let of = |name: &str| told["contact"][name].as_str().filter(|text| !text.trim().is_empty());
    let known = of("name").or_else(|| of("phoneNumber"));
    known.unwrap_or("an unknown number").to_owned()
}

/// Behind a collected value that the callee neither said nor affirmed.
const UNCONFIRMED: &str = " (unconfirmed)";

/// Returns the values for the subject. Later ones override earlier ones: the agent's own, those given to a
/// single call, the person's, and those of the call. One that is not confirmed overrides nothing.
pub(super) async fn values(store: &dyn Store, delivery: &Delivery, told: &Value) -> StoreResult<Values> {
    let conversation = store.conversation(delivery.account, delivery.call()?).await?;
    let agent = match store.kept_agent(delivery.account, conversation.agent).await {
        Ok(row) => agent::complete(&row.document).unwrap_or_default(),
        Err(StoreError::NotFound) => Agent::default(),
        Err(other) => return Err(other),
    };
    let own = &agent.conversation_config.agent.dynamic_variables;
    let nothing = Map::new();
    let person = told["contact"].as_object().unwrap_or(&nothing);
    let of_call = store.call_variables(delivery.call()?).await?;
    let mut values: Values = own
        .iter()
        .chain(&of_call)
        .chain(person)
        .map(|(name, value)| (name.clone(), text(value)))
        .collect();
    let system = system_values(&agent, &CallFacts::of(&conversation));
    for (name, value) in conversation.collected {
        match conversation.evidence.contains_key(&name) {
            true => drop(values.insert(name, value)),
            false => drop(values.entry(name).or_insert_with(|| format!("{value}{UNCONFIRMED}"))),
        }
    }
    values.extend(system);
    values.insert("status".into(), text(&told["status"]));
    values.insert("agentName".into(), text(&told["agentName"]));
    Ok(values)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn facts(told: &Value) -> Vec<Fact> {
    let seconds = told["conversationDuration"].as_i64().unwrap_or_default();
    let yes = |name: &str| (told[name] == true).then(|| "yes".to_owned());
    let said = |value: &Value| Some(text(value)).filter(|text| !text.is_empty());
    let all = [
        ("Agent", said(&told["agentName"])),
        ("Name", said(&told["contact"]["name"])),
        ("Number", said(&told["contact"]["phoneNumber"])),
        ("Direction", said(&told["direction"])),
        ("Outcome", said(&told["status"])),
        ("Reason", said(&told["errorMessage"])),
        ("Duration", Some(format!("{}:{:02} min", seconds / 60, seconds % 60))),
        ("Voicemail", yes("voiceMailDetected")),
        ("Transferred", yes("callTransferred")),
        ("Sentiment", said(&told["sentiment"]["sentiment_overall"])),
        ("Conversation", said(&told["conversationId"])),
    ];
    let known = all
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    known.collect()
}

fn collected(told: &Value) -> Vec<Fact> {
    let items = told["dataCollected"]["items"].as_array();
    let items = items.into_iter().flatten();
    items
        .map(|item| {
            let mark = if item["confirmed"] == true { "" } else { UNCONFIRMED };
            (text(&item["entity"]), format!("{}{mark}", text(&item["value"])))
        })
        .collect()
}

fn plain(told: &Value, facts: &[Fact], collected: &[Fact], transcript: Option<&str>) -> String {
    let lines = |facts: &[Fact]| {
        let lines = facts
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.replace('\n', " ")));
        lines.collect::<Vec<_>>().join("\n")
    };
    let mut blocks = vec![lines(facts)];
    if let Some(summary) = told["summary"].as_str() {
        blocks.push(format!("Summary\n{summary}"));
    }
    if !collected.is_empty() {
        blocks.push(format!("Collected\n{}", lines(collected)));
    }
    if let Some(transcript) = transcript {
        blocks.push(format!("Transcript\n{transcript}"));
    }
    let mut text: String = blocks
        .join("\n\n")
        .chars()
        .filter(|c| *c == '\n' || !c.is_control())
        .collect();
    text.push('\n');
    text
}

fn html(told: &Value, facts: &[Fact], collected: &[Fact], transcript: Option<&str>) -> String {
    let table = |facts: &[Fact]| {
        let row = |(name, value): &Fact| {
            let style = "text-align:left;padding:2px 12px 2px 0;vertical-align:top";
            format!(
                "<tr><th style=\"{style}\">{}</th><td>{}</td></tr>\n",
                escaped(name),
                escaped(value)
            )
        };
        format!("<table>\n{}</table>\n", facts.iter().map(row).collect::<String>())
    };
    let mut body = table(facts);
    if let Some(summary) = told["summary"].as_str() {
        body += &format!("<h3>Summary</h3>\n<p>{}</p>\n", escaped(summary));
    }
    if !collected.is_empty() {
        body += &format!("<h3>Collected</h3>\n{}", table(collected));
    }
    if let Some(transcript) = transcript {
        let lines: Vec<String> = transcript.lines().map(escaped).collect();
        body += &format!("<h3>Transcript</h3>\n<p>{}</p>\n", lines.join("<br>\n"));
    }
    format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head>\n<body style=\"font-family:sans-serif\">\n{body}</body></html>\n"
    )
}

/// Escapes everything that HTML reads as markup, also within quotes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' => {}
            c => out.push(c),
        }
    }
    out
}
