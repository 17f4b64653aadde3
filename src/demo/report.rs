//! Output of the demo at its end: a table of outcomes, one transcript, and the locations of all files.

use std::{collections::BTreeMap, path::Path};

use comfy_table::{ContentArrangement, Table, presets::UTF8_BORDERS_ONLY};
use serde_json::Value;

use super::expected::{expected, holds, persona_of};
use sim::exchange::Persona;

/// A contact of the campaign with the conversation it led to.
pub struct Row<'a> {
    contact: &'a Value,
    conversation: Option<&'a Value>,
    persona: Persona,
    unknown_persona: Option<String>,
}

impl Row<'_> {
    fn as_expected(&self) -> bool {
        self.conversation.is_some_and(|c| holds(expected(self.persona), c))
    }

    fn persona(&self) -> String {
        match &self.unknown_persona {
            Some(name) => format!("{} (there is no `{name}`)", self.persona.name()),
            None => self.persona.name().to_owned(),
        }
    }
}

/// Pairs the campaign's contacts with their conversations.
pub fn rows<'a>(contacts: &'a [Value], conversations: &'a [Value]) -> Vec<Row<'a>> {
    let by_number: BTreeMap<&str, &Value> = conversations
        .iter()
        .filter_map(|c| Some((c["contactNumber"].as_str()?, c)))
        .collect();
    contacts
        .iter()
        .map(|contact| {
            let (persona, unknown_persona) = persona_of(contact);
            Row {
                contact,
                conversation: contact["phoneNumber"]
                    .as_str()
                    .and_then(|number| by_number.get(number).copied()),
                persona,
                unknown_persona,
            }
        })
        .collect()
}

/// Returns whether every outcome is its persona's, and none is missing.
pub fn all_as_expected(rows: &[Row<'_>]) -> bool {
    !rows.is_empty() && rows.iter().all(Row::as_expected)
}

/// Prints the table of outcomes.
pub fn print_outcomes(rows: &[Row<'_>]) {
    let mut table = Table::new();
    table
        .load_style(UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header([
        "Number",
        "Name",
        "Persona",
        "Outcome",
        "Seconds",
        "Mood",
        "Collected",
        "Verdict",
    ]);
    for row in rows {
        let c = row.conversation.unwrap_or(&Value::Null);
        table.add_row([
            text(&row.contact["phoneNumber"]),
            text(&row.contact["name"]),
            row.persona(),
            outcome(c),
            c["conversationDuration"]
                .as_i64()
                .map_or_else(String::new, |s| s.to_string()),
            text(&c["sentiment"]["sentiment_overall"]),
            collected(c),
            if row.as_expected() {
                "as expected".into()
            } else {
                "NOT AS EXPECTED".into()
            },
        ]);
    }
    println!("\n{table}");
}

/// Prints the transcript of the conversation with the most collected data, with the results of the analysis.
pub fn print_one_transcript(conversations: &[Value]) {
    let items = |c: &Value| c["dataCollected"]["items"].as_array().map_or(0, Vec::len);
    let Some(c) = conversations
        .iter()
        .filter(|c| c["status"] == "completed")
        .max_by_key(|c| items(c))
    else {
        return;
    };
    println!("\nOne call in full, {}:\n", text(&c["contactNumber"]));
    for line in c["transcript"].as_str().unwrap_or_default().lines() {
        println!("  {line}");
    }
    println!("\n  Summary: {}", text(&c["summary"]));
    for moment in c["keyMoments"].as_array().into_iter().flatten() {
        println!(
            "  {}  {}: {}",
            text(&moment["timestamp"]),
            text(&moment["label"]),
            text(&moment["text"])
        );
    }
}

/// Locations after the demo.
pub struct Places<'a> {
    /// Temporary folder.
    pub folder: &'a Path,
    /// Address that the service had.
    pub address: &'a str,
    /// Address that the service will have if it is started again.
    pub served: &'a str,
    /// API key of the account.
    pub api_key: &'a str,
    /// Id of the campaign.
    pub campaign: &'a str,
    /// Path of this program, as it was called.
    pub program: &'a str,
    /// Link that signs a browser in to the dashboard, once and within 10 minutes.
    pub login_link: &'a str,
}

/// Prints the locations of recordings and database, the address and key, and what to try next.
pub fn print_places(places: &Places<'_>) {
    let folder = places.folder.display();
    println!("\nDatabase    {folder}/ringback.db");
    println!("Recordings  {folder}/recordings (stereo WAV: user left, agent right)");
    println!("Address     {} (of this run; the service has stopped)", places.address);
    println!("API key     {}", places.api_key);
    println!("\nTry next: start the service with what this run left,");
    println!(
        "  {} serve --database-url sqlite://{folder}/ringback.db --data-dir {folder}",
        places.program
    );
    println!("then open this link in a browser. It signs you in once, within 10 minutes:");
    println!("  {}", places.login_link);
    println!("For another link, in another terminal:");
    println!(
        "  {} account login-link --database-url sqlite://{folder}/ringback.db",
        places.program
    );
    println!("To use the API there:");
    println!(
        "  curl -H 'x-api-key: {}' {}/public/v1/conversations",
        places.api_key, places.served
    );
    println!(
        "  curl -H 'x-api-key: {}' {}/public/v1/campaigns/{}",
        places.api_key, places.served, places.campaign
    );
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn outcome(c: &Value) -> String {
    let status = text(&c["status"]);
    match c["errorMessage"].as_str() {
        Some(error) => format!("{status}: {error}"),
        None if c["voiceMailDetected"] == true => format!("{status}: voicemail"),
        None if status.is_empty() => "no conversation".into(),
        None => status,
    }
}

fn collected(c: &Value) -> String {
    let items = c["dataCollected"]["items"].as_array();
    let pairs = items
        .into_iter()
        .flatten()
        .map(|i| format!("{}: {}", text(&i["entity"]), text(&i["value"])));
    pairs.collect::<Vec<_>>().join(", ")
}
