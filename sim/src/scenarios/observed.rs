//! One call as seen by its phone and its transcript.

use serde_json::Value;

use crate::exchange::{LogEntry, LogEvent};

/// Sound with its times, in milliseconds from the opening of the phone's media.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Words, or name of the sound.
    pub text: String,
    /// First voiced frame.
    pub from_ms: u64,
    /// Last voiced frame.
    pub to_ms: u64,
    /// Whether it began while the agent was talking.
    pub over_agent: bool,
}

impl Span {
    /// Returns whether this moment lies within it.
    pub fn holds(&self, at_ms: u64) -> bool {
        (self.from_ms..=self.to_ms).contains(&at_ms)
    }
}

/// Events of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// Speech of the phone to the agent.
    pub said: Vec<Span>,
    /// Sounds of the phone that were not meant for the agent: "mm-hm", a cough, music.
    pub asides: Vec<Span>,
    /// Speech that the phone heard.
    pub heard: Vec<Span>,
    /// Times at which playout was cleared with something unplayed.
    pub cleared_ms: Vec<u64>,
    /// Times at which playout resumed after a false alarm, each with the delay since the end of its cause.
    pub resumed_ms: Vec<(u64, u64)>,
    /// The agent's lines of the transcript.
    pub agent_lines: Vec<String>,
    /// The callee's lines of the transcript.
    pub user_lines: Vec<String>,
    /// Status of the conversation.
    pub status: String,
    /// `errorMessage` of the conversation.
    pub error: Option<String>,
}

impl Observed {
    /// Collects the call to a number from the phones' record and the conversation as the API shows it.
    pub fn of(log: &[LogEntry], number: &str, conversation: &Value) -> Self {
        let mut observed = Self {
            status: conversation["status"].as_str().unwrap_or_default().to_owned(),
            error: conversation["errorMessage"].as_str().map(str::to_owned),
            ..Self::default()
        };
        let call = log.iter().find_map(|entry| match &entry.event {
            LogEvent::Accepted { to, .. } if to == number => Some(entry.call_id.as_str()),
            _ => None,
        });
        for entry in log.iter().filter(|entry| Some(entry.call_id.as_str()) == call) {
            observed.take(&entry.event);
        }
        for line in conversation["transcript"].as_str().unwrap_or_default().lines() {
            if let Some(text) = line.strip_prefix("Agent: ") {
                observed.agent_lines.push(text.to_owned());
            } else if let Some(text) = line.strip_prefix("User: ") {
                observed.user_lines.push(text.to_owned());
            }
        }
        observed
    }

    fn take(&mut self, event: &LogEvent) {
        match event {
            LogEvent::Said {
                text,
                from_ms,
                to_ms,
                over_agent,
                aside,
            } => {
                let list = if *aside { &mut self.asides } else { &mut self.said };
                list.push(span(text, *from_ms, *to_ms, *over_agent));
            }
            LogEvent::Sounded {
                sound,
                from_ms,
                to_ms,
                over_agent,
            } => self.asides.push(span(sound, *from_ms, *to_ms, *over_agent)),
            LogEvent::Heard {
                text, from_ms, to_ms, ..
            } => self.heard.push(span(text, *from_ms, *to_ms, false)),
            LogEvent::Cleared { at_ms, unplayed_ms } if *unplayed_ms > 0 => self.cleared_ms.push(*at_ms),
            LogEvent::Resumed { at_ms, after_ms } => self.resumed_ms.push((*at_ms, *after_ms)),
            _ => {}
        }
    }
}

fn span(text: &str, from_ms: u64, to_ms: u64, over_agent: bool) -> Span {
    Span {
        text: text.to_owned(),
        from_ms,
        to_ms,
        over_agent,
    }
}
