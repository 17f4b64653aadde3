//! A call that another process held when it died, or when nobody reached it any more: its carrier brought it here, and it
//! goes on where it was.

use serde_json::Value;

use super::{
    CallTimer, Effect, EndReason, Leg, Phase, Rules, State, ending::GOODBYE_MS, lost::Resume, who_answered::Machine,
};
use crate::{
    call::history::History,
    ports::{
        carrier::CarrierCallId,
        language_model::{HistoryItem, Speaker},
        store::{CallDirection, EventFact, ReturnedCall},
    },
};

/// How long the carrier has to open the media socket, once it was told to.
const MEDIA_WITHIN_MS: u64 = 20_000;

/// What the agent begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// With the greeting: nobody has said anything.
    Greeting,
    /// By asking whether they are still there.
    AreYouThere,
    /// With the question that they did not answer.
    SameQuestion,
    /// With the answer to their last words.
    Answer,
    /// With the goodbye to somebody who wished never to be called again.
    OptedOut,
}

/// The last question that the agent was heard to ask, if that was the last thing said.
fn open_question(history: &History) -> Option<&str> {
    let Some(HistoryItem::Said {
        speaker: Speaker::Agent,
        text,
        interrupted: false,
        ..
    }) = history.items().last()
    else {
        return None;
    };
    let ends = |character: char| {
        matches!(
            character,
            '.' | '!' | '?' | '\u{3002}' | '\u{ff01}' | '\u{ff1f}' | '\u{964}'
        )
    };
    let text = text.trim_end();
    text.ends_with(['?', '\u{ff1f}']).then_some(())?;
    let before = text.trim_end_matches(ends);
    let begin = before
        .rfind(ends)
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    Some(text[begin..].trim_start())
}

fn opening(call: &ReturnedCall, history: &History) -> Opening {
    if call.opted_out && call.direction == CallDirection::Outbound {
        return Opening::OptedOut;
    }
    match history.items().last() {
        None => Opening::Greeting,
        Some(HistoryItem::Said {
            speaker: Speaker::User, ..
        }) => Opening::Answer,
        Some(_) if open_question(history).is_some() => Opening::SameQuestion,
        Some(_) => Opening::AreYouThere,
    }
}

/// The machine that was on the line, as far as is known; a person whom an assistant or a menu let through is none.
fn machine(call: &ReturnedCall) -> Option<Machine> {
    let last = call.events.iter().rfind(|event| event.name == "amd")?;
    let detail: Value = serde_json::from_str(&last.detail).ok()?;
    let talked = call.turns.iter().any(|turn| turn.started_ms > last.at_ms);
    let screening = detail["reason"].as_str() == Some("screening");
    match detail["verdict"].as_str()? {
        "voicemail" => Some(Machine::Message { beeped: false }),
        _ if talked => None,
        "ivr" if screening => Some(Machine::Screening { told: 0, since_ms: 0 }),
        "ivr" | "unavailable" => Some(Machine::Menu),
        _ => None,
    }
}

fn count(events: &[EventFact], name: &str) -> u32 {
    let count = events.iter().filter(|event| event.name == name).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl State {
    /// The call as it was left, with its time running on from its answer; only its media socket is waited for.
    pub fn taken_over(rules: Rules, leg: CarrierCallId, call: &ReturnedCall) -> (Self, Vec<Effect>) {
        let (mut state, _) = Self::new(rules);
        let elapsed_ms = u64::try_from(call.elapsed_ms).unwrap_or(0);
        state.leg = Leg {
            inbound: call.direction == CallDirection::Inbound,
            dialed: true,
            id: Some(leg),
            answered_ms: Some(0),
            rejoined: true,
            barge_in: true,
            ..Leg::default()
        };
        state.history = History::of(&call.turns, call.collected.clone());
        state.handed_on = count(&call.events, "transfer");
        state.handovers = count(&call.events, "agent_transfer");
        state.lost_ms = elapsed_ms;
        let machine = machine(call).filter(|_| !state.leg.inbound);
        state.voicemail = matches!(machine, Some(Machine::Message { .. }));
        state.phase = Phase::Lost(match machine {
            Some(machine) => Resume::Machine(machine),
            None => Resume::TakenOver(opening(call, &state.history)),
        });
        let until_close_ms = state.rules.max_duration_ms - state.rules.closing_lead_ms();
        let effects = vec![
            Effect::SetTimer(CallTimer::EndReport, MEDIA_WITHIN_MS),
            Effect::SetTimer(CallTimer::MaxDuration, until_close_ms.saturating_sub(elapsed_ms).max(1)),
        ];
        (state, effects)
    }

    /// The media is here: a short word that the line was gone, and on with it.
    pub(super) fn go_on_as_heir(&mut self, opening: Opening, now_ms: u64, fx: &mut Vec<Effect>) {
        let lost_you = self.rules.phrases.lost_you;
        match opening {
            Opening::Greeting => return self.greet(now_ms, fx),
            Opening::OptedOut => {
                let goodbye = self.rules.phrases.opted_out;
                return self.say_goodbye(goodbye, EndReason::Completed, GOODBYE_MS, fx);
            }
            Opening::Answer => {
                self.think(now_ms, fx);
                self.say_before_reply(lost_you, fx);
                return;
            }
            Opening::SameQuestion | Opening::AreYouThere => {}
        }
        self.phase = Phase::Speaking;
        self.reply.protected = false;
        let question = open_question(&self.history).map(|question| format!("{lost_you} {question}"));
        let words = question.unwrap_or_else(|| self.rules.phrases.cut_off.to_owned());
        self.say_all(&words, false, fx);
    }
}
