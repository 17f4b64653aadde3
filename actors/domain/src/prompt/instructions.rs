//! The instructions of a call: the agent's role, how to speak on the phone, what to find out, and the time.

use std::fmt::Write;

use chrono_tz::Tz;

use super::{conversation::without_brackets, delivery, knowledge, language, message::Tool, notes, tools::entity_lines};
use crate::{
    ports::{
        language_model::{NoteScope, ReplyRequest},
        store::CallDirection,
    },
    template::{self, Place},
};

/// Heading in the instructions, after the agent's own prompt.
pub const LINE_HEADING: &str = "# The line";
/// Heading in the instructions above the agent's name.
pub const NAME_HEADING: &str = "# Name";
/// Heading in the instructions above the greeting.
pub const GREETING_HEADING: &str = "# Greeting";
/// Rule for an agent that honours opt-outs.
pub const OPT_OUT_RULE: &str = "- If they ask never to be called again, promise that and call `endCall` with the reason `opt_out`; if \
     you are not sure that they do, ask once.";

/// Note on how the call reaches a model and how its words reach the call, independent of the agent's own manner.
const THE_LINE: &str = "You are on a live telephone call. Everything you write is spoken aloud, so write only the words to be said: no markup, no lists, no emoji, no stage directions, unless voices or audio tags are told of below. What the other person says is written down by a machine that may mishear. Lines in square brackets are notes from the line: nobody said them, never say or write such a note. Your own earlier words are shown as far as they were heard.";

const PERSONALITY: &str = "# Manner
- Be warm, natural and brief: one or two short sentences, then let them speak. Ask one thing at a time.
- Say numbers, dates, times, prices and addresses as a person would say them, and say back names, numbers and addresses that matter.
- If something may have been misheard, take what is likely, or ask again in other words.
- If they cut you short, answer what they said; do not begin again.
- If they ask who you are or why you call, say so honestly.
- Never say that something is done unless a tool has done it, and do not make up facts.";

/// Returns the part that is the same in every reply of a call.
pub(super) fn stable(request: &ReplyRequest, tools: &[Tool]) -> String {
    let agent = &request.agent.conversation_config.agent;
    let mut parts = vec![template::render(
        Place::Prompt,
        &agent.prompt.prompt,
        &request.variables,
    )];
    let who = match request.direction {
        CallDirection::Outbound => "You called them.",
        CallDirection::Inbound => "They called you. You cannot call anybody, so promise no call.",
    };
    parts.push(format!("{LINE_HEADING}\n{THE_LINE} {who}"));
    if !agent.prompt.ignore_default_personality {
        parts.push(PERSONALITY.to_owned());
    }
    let name = request.agent.name.split_whitespace().collect::<Vec<_>>().join(" ");
    if !name.is_empty() {
        parts.push(format!(
            "{NAME_HEADING}\n{name}\nYou speak as this, unless you were told another name."
        ));
    }
    let rule = language::rule(&agent.primary_language, agent.is_hinglish());
    parts.push(format!("# Language\n{rule}"));
    let opening = request.agent.conversation_config.opening(&request.variables);
    let opening = opening.split_whitespace().collect::<Vec<_>>().join(" ");
    if !opening.is_empty() {
        parts.push(format!(
            "{GREETING_HEADING}\n{opening}\nThese words of yours open the call. If they were not heard, begin with them."
        ));
    }
    parts.extend(delivery::voices(&request.agent));
    parts.extend(delivery::audio_tags(&request.agent));
    parts.extend(to_find_out(request));
    parts.extend(with_tools(request, tools));
    parts.extend(knowledge::stable(request));
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n\n")
}

fn to_find_out(request: &ReplyRequest) -> Option<String> {
    let mut names = String::new();
    for line in entity_lines(&request.agent, &request.variables) {
        let _ = write!(names, "\n- {line}");
    }
    (!names.is_empty()).then(|| {
        format!(
            "# What to find out\nAsk for what is still missing, one after the other, in your own words. Call `collect` as soon \
             as you know a value, in the same reply as your next words, and again if they correct it. If they will not \
             tell, go on.{names}"
        )
    })
}

fn with_tools(request: &ReplyRequest, tools: &[Tool]) -> Option<String> {
    let has = |name: &str| tools.iter().any(|tool| tool.name == name);
    let mut rules = Vec::new();
    if has("endCall") {
        rules.push("- The call ends only when you call `endCall`: say your last words in the same reply.");
    }
    if has("endCall") && request.agent.platform_settings.call_actions.smart_opt_out {
        rules.push(OPT_OUT_RULE);
    }
    if has("callLater") {
        rules.push(
            "- If they want to be called at another time, ask when if they did not say it, and call `callLater`.",
        );
    }
    (!rules.is_empty()).then(|| format!("# Tools\n{}", rules.join("\n")))
}

/// Returns the part that changes from reply to reply: a note from the line.
pub(super) fn changing(request: &ReplyRequest) -> String {
    let name = request.agent.conversation_config.agent.prompt.timezone.as_str();
    let zone: Tz = name.parse().unwrap_or(Tz::UTC);
    let now = request.now.to_utc().with_timezone(&zone);
    let mut now = format!(
        "{}{}, in the time zone {}.]",
        notes::NOW,
        now.format("%A, %-d %B %Y, %H:%M"),
        zone.name()
    );
    for note in &request.notes {
        let begins = match note.holds_for {
            NoteScope::Turn => notes::INSTRUCTED_ONCE,
            NoteScope::Call => notes::INSTRUCTED,
        };
        let _ = write!(now, "\n{begins}{}]", without_brackets(&note.text));
    }
    match knowledge::changing(request) {
        Some(found) => format!("{now}\n{found}"),
        None => now,
    }
}
