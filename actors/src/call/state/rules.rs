//! The figures and texts that govern one call, read once from its agent.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::filler::BYTE_MS;
use crate::call::{Speculation, introduction::introduction};
use domain::{
    agent::{Agent, Successor, UsableTransfer},
    phrases::Phrases,
    pieces::{Directions, spoken},
    ports::carrier::CarrierAbilities,
    template::{self, Place},
};

/// Rules of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// How long it may ring.
    pub ring_timeout_ms: u64,
    /// Spoken first; none: the agent waits for the user.
    pub greeting: Option<String>,
    /// The greeting is the same whoever is called.
    pub greeting_fixed: bool,
    /// The greeting is protected from barge-in.
    pub greeting_protected: bool,
    /// Told to an assistant that asks who calls.
    pub introduction: String,
    /// Left on a machine; none: hung up. Only an agent with the tool enabled has one.
    pub voicemail_message: Option<String>,
    /// Silence until the agent speaks up.
    pub turn_timeout_ms: Option<u64>,
    /// Silence until the call ends.
    pub silence_end_ms: Option<u64>,
    /// From the answer to the end.
    pub max_duration_ms: u64,
    /// What is said with `endCall` is protected.
    pub end_call_protected: bool,
    /// Where the call may be handed on to.
    pub transfers: Vec<UsableTransfer>,
    /// What is said before it is handed on is protected.
    pub transfer_protected: bool,
    /// Agents that may take the call over.
    pub agents: Vec<Successor>,
    /// What is said before one does is protected.
    pub agents_protected: bool,
    /// The present language.
    pub language: String,
    /// Those that may be spoken; none where the language does not change.
    pub languages: Vec<String>,
    /// What is said with a change of the language is protected.
    pub language_protected: bool,
    /// What is said with `skipTurn` is protected.
    pub skip_turn_protected: bool,
    /// It belongs to no campaign.
    pub single: bool,
    /// What the carrier offers.
    pub carrier: CarrierAbilities,
    /// A user who asks not to be called again is not.
    pub smart_opt_out: bool,
    /// What it says when a provider lets it down.
    pub phrases: Phrases,
    /// What the model may write for the voices.
    pub directions: Arc<Directions>,
    /// How long a byte of text takes to say, about.
    pub byte_ms: u64,
    /// How far a reply is made ahead; a setting of the service.
    pub speculation: Speculation,
    /// How long a lost dial may stay unexplained.
    pub settle_ms: u64,
}

fn timeout_ms(seconds: f64) -> Option<u64> {
    // A saturating cast: the value was validated when it was saved, and 0 or less means never.
    (seconds > 0.0).then_some((seconds * 1000.0) as u64)
}

fn rendered(place: Place, text: Option<&String>, variables: &BTreeMap<String, String>) -> Option<String> {
    let text = spoken(&template::render(place, text?, variables));
    (!text.is_empty()).then_some(text)
}

impl Rules {
    /// Reads an agent.
    pub fn of(agent: &Agent, variables: &BTreeMap<String, String>, ring_timeout: Duration) -> Self {
        let config = &agent.conversation_config;
        let tools = &config.agent.prompt.built_in_tools;
        let greets = |variables: &BTreeMap<String, String>| {
            rendered(Place::Greeting, config.agent.greeting_message.as_ref(), variables)
        };
        let greeting = greets(variables);
        Self {
            introduction: introduction(agent, greeting.as_deref(), variables),
            ring_timeout_ms: u64::try_from(ring_timeout.as_millis()).unwrap_or(u64::MAX),
            greeting_fixed: greets(&BTreeMap::new()) == greeting,
            greeting,
            greeting_protected: config.agent.disable_first_message_interruptions,
            voicemail_message: rendered(
                Place::VoicemailMessage,
                tools
                    .voicemail_detection
                    .voicemail_message
                    .as_ref()
                    .filter(|_| tools.voicemail_detection.tool.enabled),
                variables,
            ),
            turn_timeout_ms: timeout_ms(config.turn.turn_timeout),
            silence_end_ms: timeout_ms(config.turn.silence_end_call_timeout),
            max_duration_ms: u64::try_from(config.conversation.max_duration_seconds)
                .unwrap_or(0)
                .max(1)
                .saturating_mul(1000),
            end_call_protected: tools.end_call.disable_interruption,
            transfers: tools.transfer_to_number.usable(),
            transfer_protected: tools.transfer_to_number.tool.disable_interruption,
            agents: tools.transfer_to_agent.successors(variables),
            agents_protected: tools.transfer_to_agent.tool.disable_interruption,
            language: config.agent.primary_language.clone(),
            languages: agent.languages(),
            language_protected: tools.language_detection.disable_interruption,
            skip_turn_protected: tools.skip_turn.disable_interruption,
            single: false,
            carrier: CarrierAbilities::default(),
            smart_opt_out: agent.platform_settings.call_actions.smart_opt_out,
            phrases: Phrases::of(&config.agent.primary_language),
            directions: Arc::new(Directions::of(agent)),
            byte_ms: (BYTE_MS / config.tts.speed.max(0.1)) as u64,
            speculation: Speculation::default(),
            settle_ms: 120_000,
        }
    }

    /// Whether what is said around a tool is protected.
    pub(super) fn protects(&self, tool: &str) -> bool {
        match tool {
            "endCall" => self.end_call_protected,
            "languageDetection" => self.language_protected,
            "skipTurn" => self.skip_turn_protected,
            "transferToAgent" => self.agents_protected,
            "transferToNumber" => self.transfer_protected,
            _ => false,
        }
    }

    /// How long before the limit the closing sentence begins.
    pub(super) fn closing_lead_ms(&self) -> u64 {
        (self.max_duration_ms / 4).min(5_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_fixed_if_it_is_the_same_whoever_is_called() {
        let variables = BTreeMap::from([("name".to_owned(), "Maria".to_owned())]);
        for (greeting, fixed) in [
            ("Hello, this is Ringo.", true),
            ("Hello {{name}}, this is Ringo.", false),
            ("Hello {{ name }}!", false),
            ("Hello {{city}}, this is Ringo.", true),
        ] {
            let mut agent = Agent::default();
            agent.conversation_config.agent.greeting_message = Some(greeting.into());
            let rules = Rules::of(&agent, &variables, Duration::from_secs(30));
            assert_eq!(rules.greeting_fixed, fixed, "{:?}", rules.greeting);
        }
    }
}
