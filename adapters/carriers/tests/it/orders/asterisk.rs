//! Asterisk's reports of a call: events about its channels, parsed by our parser and handled by the state
//! machine of the call at Asterisk, whose reports go to the call.

use carriers::asterisk::{
    call::{CallState, Happening, Listed, Step},
    event::{self, News},
    names::{Names, Part},
};
use domain::{id::AttemptId, ports::carrier::CallProgress};
use serde_json::{Value, json};

use super::life::{Cause, Fact};

/// The call at an Asterisk, and its media channels.
pub struct Exchange {
    state: CallState,
    media: Vec<u32>,
    /// Events of the end that came before the one of the answer. Asterisk sends them in order.
    pub held: Vec<usize>,
    pub entered: bool,
}

/// A consequence outside of the line.
#[derive(Debug, PartialEq, Eq)]
pub enum Follows {
    Told(CallProgress),
    MediaWanted(u32),
    HungUp,
}

impl Exchange {
    pub fn new() -> Self {
        Self {
            state: CallState::new(),
            media: Vec::new(),
            held: Vec::new(),
            entered: false,
        }
    }

    /// Returns whether Asterisk is known to have the call.
    pub fn is_placed(&self) -> bool {
        self.state.is_placed()
    }

    pub fn is_over(&self) -> bool {
        self.state.is_over()
    }

    /// Returns the number of media channels that nobody has hung up.
    pub fn media_left(&self) -> usize {
        self.media.len()
    }

    pub fn takes(&mut self, happening: Happening) -> Vec<Follows> {
        self.entered |= happening == Happening::Entered(Part::Call);
        if let Happening::Entered(Part::Media(n)) = happening
            && !self.media.contains(&n)
        {
            self.media.push(n);
        }
        let steps = self.state.on(happening);
        let follows = steps.into_iter().filter_map(|step| match step {
            Step::Report(progress) => Some(Follows::Told(progress)),
            Step::OpenMedia(n) => Some(Follows::MediaWanted(n)),
            Step::HangUp(Part::Call) => Some(Follows::HungUp),
            Step::HangUp(Part::Media(n)) => {
                self.media.retain(|here| *here != n);
                None
            }
            _ => None,
        });
        follows.collect()
    }

    /// Returns the list of channels after events were missed.
    pub fn listing(&self, call_is_up: Option<bool>) -> Happening {
        let call = call_is_up.map(|up| (Part::Call, up));
        let media = self.media.iter().map(|n| (Part::Media(*n), true));
        Happening::Listed(Listed {
            channels: call.into_iter().chain(media).collect(),
        })
    }
}

fn names() -> Names {
    Names::new("ringback")
}

fn channel(part: Part, state: &str) -> Value {
    json!({
        "id": names().channel(AttemptId::FIRST, part), "name": "PJSIP/trunk-00000001", "state": state, "protocol_id": "x",
        "caller": { "name": "", "number": "" }, "connected": { "name": "", "number": "+15550000001" }, "language": "en",
        "accountcode": "", "creationtime": "2026-01-01T00:00:00.000+0000",
        "dialplan": { "context": "default", "exten": "s", "priority": 1, "app_name": "", "app_data": "" },
    })
}

fn dial(status: &str, state: &str) -> Value {
    json!({ "type": "Dial", "dialstatus": status, "dialstring": "x", "forward": "", "peer": channel(Part::Call, state) })
}

fn entered(part: Part) -> Value {
    json!({ "type": "StasisStart", "args": [], "channel": channel(part, "Up") })
}

/// Parses an event and returns what happened to the call.
fn read(event: &Value) -> Option<Happening> {
    let part = |id: &str| names().read(id).unwrap().1;
    Some(match event::parse(&event.to_string()).unwrap() {
        News::Entered { channel, .. } => Happening::Entered(part(&channel.id)),
        News::Changed(channel) if channel.is_ringing() => Happening::Dial(part(&channel.id), "RINGING".to_owned()),
        News::Dial { peer, status } => Happening::Dial(part(&peer), status),
        News::Destroyed { id, gone } => Happening::Gone(part(&id), gone),
        News::Changed(_) | News::Replaced | News::Nothing => return None,
    })
}

/// Returns the event of a media channel that is now ours.
pub fn media_entered(n: u32) -> Happening {
    read(&entered(Part::Media(n))).unwrap()
}

/// Returns the events that report a fact.
pub fn told(fact: Fact) -> Vec<Happening> {
    let events = match fact {
        Fact::Placed => vec![dial("", "Down")],
        Fact::Ringing => vec![
            json!({ "type": "ChannelStateChange", "channel": channel(Part::Call, "Ringing") }),
            dial("RINGING", "Ringing"),
        ],
        Fact::Answered => vec![
            dial("ANSWER", "Up"),
            json!({ "type": "ChannelStateChange", "channel": channel(Part::Call, "Up") }),
            entered(Part::Call),
        ],
        Fact::Ended(cause) => {
            let (status, cause, words, technical) = match cause {
                Cause::Completed => (None, 16, "Normal Clearing", 0),
                Cause::Busy => (Some("BUSY"), 17, "User busy", 486),
                Cause::Rejected => (Some("CONGESTION"), 21, "Call Rejected", 603),
                Cause::InvalidNumber => (Some("CONGESTION"), 1, "Unallocated (unassigned) number", 404),
                Cause::NoAnswer => (Some("NOANSWER"), 0, "", 0),
                Cause::Canceled => (Some("CANCEL"), 16, "Normal Clearing", 0),
                Cause::Failed => (Some("CONGESTION"), 34, "Circuit/channel congestion", 503),
            };
            let gone = json!({
                "type": "ChannelDestroyed", "cause": cause, "cause_txt": words, "tech_cause": technical,
                "channel": channel(Part::Call, "Up"),
            });
            status
                .map(|status| dial(status, "Down"))
                .into_iter()
                .chain([gone])
                .collect()
        }
    };
    events.iter().filter_map(read).collect()
}
