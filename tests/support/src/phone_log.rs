//! The exchange's record, read call by call: who was dialed, what the phone said and heard, and when.

use domain::time::Timestamp;
use sim::exchange::{Figures, LogEntry, LogEvent};

/// Words with their times in the call, in milliseconds from the opening of the phone's media.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    pub text: String,
    pub from_ms: u64,
    pub to_ms: u64,
    /// Whether it was heard to the end, with nothing missing; always `true` for the phone's own words.
    pub whole: bool,
}

/// The exchange's record.
pub struct PhoneLog(Vec<LogEntry>);

/// One call.
#[derive(Debug)]
pub struct PhoneCall {
    /// Time at which the exchange accepted the dial.
    pub dialed_at: Timestamp,
    pub to: String,
    pub persona: String,
    events: Vec<(Timestamp, LogEvent)>,
}

impl PhoneLog {
    pub fn new(entries: Vec<LogEntry>) -> Self {
        Self(entries)
    }

    /// Returns all calls, in the order they were dialed.
    pub fn calls(&self) -> Vec<PhoneCall> {
        let accepted = self.0.iter().filter_map(|entry| match &entry.event {
            LogEvent::Accepted { to, persona, .. } => Some((entry, to, persona)),
            _ => None,
        });
        let calls = accepted.map(|(entry, to, persona)| PhoneCall {
            dialed_at: entry.at,
            to: to.clone(),
            persona: persona.clone(),
            events: self.of_call(&entry.call_id),
        });
        calls.collect()
    }

    /// Returns the only call that a phone made.
    pub fn caller(&self, phone: &str) -> PhoneCall {
        let made = self.0.iter().filter_map(|entry| match &entry.event {
            LogEvent::CalledIn { from, persona, .. } if from == phone => Some((entry, persona)),
            _ => None,
        });
        let mut calls: Vec<PhoneCall> = made
            .map(|(entry, persona)| PhoneCall {
                dialed_at: entry.at,
                to: phone.to_owned(),
                persona: persona.clone(),
                events: self.of_call(&entry.call_id),
            })
            .collect();
        assert_eq!(calls.len(), 1, "calls of {phone}: {calls:?}");
        calls.remove(0)
    }

    /// Returns the numbers dialed, in order, each as often as it was dialed.
    pub fn dialed(&self) -> Vec<String> {
        self.calls().into_iter().map(|call| call.to).collect()
    }

    /// Returns the only call to a number.
    pub fn call(&self, number: &str) -> PhoneCall {
        let mut calls = self.calls();
        calls.retain(|call| call.to == number);
        assert_eq!(calls.len(), 1, "calls to {number}: {calls:?}");
        calls.remove(0)
    }

    fn of_call(&self, id: &str) -> Vec<(Timestamp, LogEvent)> {
        let own = self.0.iter().filter(|entry| entry.call_id == id);
        own.map(|entry| (entry.at, entry.event.clone())).collect()
    }
}

impl PhoneCall {
    /// Returns the words that the phone said, in order.
    pub fn said(&self) -> Vec<Words> {
        let said = self.events.iter().filter_map(|(_, event)| match event {
            LogEvent::Said {
                text, from_ms, to_ms, ..
            } => Some(Words {
                text: text.clone(),
                from_ms: *from_ms,
                to_ms: *to_ms,
                whole: true,
            }),
            _ => None,
        });
        said.collect()
    }

    /// Returns the words that the phone heard, in order.
    pub fn heard(&self) -> Vec<Words> {
        let heard = self.events.iter().filter_map(|(_, event)| match event {
            LogEvent::Heard {
                text,
                from_ms,
                to_ms,
                whole,
            } => Some(Words {
                text: text.clone(),
                from_ms: *from_ms,
                to_ms: *to_ms,
                whole: *whole,
            }),
            _ => None,
        });
        heard.collect()
    }

    /// Returns the end of the mailbox's tone, if one was sent.
    pub fn beeped_ms(&self) -> Option<u64> {
        self.events.iter().find_map(|(_, event)| match event {
            LogEvent::Beeped { to_ms } => Some(*to_ms),
            _ => None,
        })
    }

    /// Returns the time and cause of the call's end, and the phone's measurements.
    pub fn ended(&self) -> Option<(Timestamp, String, Option<Figures>)> {
        self.events.iter().find_map(|(at, event)| match event {
            LogEvent::Ended { cause, figures } => Some((*at, cause.clone(), figures.clone())),
            _ => None,
        })
    }

    /// Returns the time at which the phone's media opened.
    pub fn media_opened(&self) -> Option<Timestamp> {
        let opened = self.events.iter().find(|(_, event)| *event == LogEvent::MediaOpened);
        opened.map(|(at, _)| *at)
    }

    /// Returns the milliseconds from the opening of the media to the end.
    pub fn talked_ms(&self) -> u64 {
        let (ended, _, _) = self.ended().unwrap_or_else(|| panic!("{} goes on", self.to));
        let opened = self
            .media_opened()
            .unwrap_or_else(|| panic!("{} never talked", self.to));
        u64::try_from(ended.since(opened).as_millis()).unwrap()
    }
}
