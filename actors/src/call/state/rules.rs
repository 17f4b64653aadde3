//! Settings and texts that govern one call, read once from its agent.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::Value;

use super::floor::filler::BYTE_MS;
use crate::call::{Speculation, introduction::introduction};
use domain::{
    agent::{Agent, Successor, UsableTransfer},
    id::AgentId,
    phrases::Phrases,
    pieces::{Directions, spoken},
    ports::{carrier::CarrierAbilities, synthesizer::Likely},
    template::{self, CALL_DURATION, Place},
    workflow::Graph,
};

/// Rules of one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Longest ringing time.
    pub ring_timeout_ms: u64,
    /// Words that tell that an AI speaks, if the agent says them.
    pub disclosure: Option<Likely>,
    /// First words of the agent: announcement and greeting. With `None` the agent waits for the user.
    pub greeting: Option<String>,
    /// Whether the user's words before the first ones of the agent are answered, since only an announcement opens the call.
    pub user_begins: bool,
    /// Whether the first words are the same for every callee.
    pub greeting_fixed: bool,
    /// Whether the first words are protected from barge-in.
    pub greeting_protected: bool,
    /// Whether a text names the duration of the call, which changes.
    pub says_duration: bool,
    /// Introduction for an assistant that asks who calls.
    pub introduction: String,
    /// Whether the model may report a mailbox.
    pub detects_voicemail: bool,
    /// Message left on a machine. With `None` the call is hung up. Only an agent with the tool enabled has one.
    pub voicemail_message: Option<String>,
    /// Whether the message is protected from voice on the line.
    pub voicemail_protected: bool,
    /// Silence before the agent speaks up.
    pub turn_timeout_ms: Option<u64>,
    /// Silence before the call ends.
    pub silence_end_ms: Option<u64>,
    /// Longest time from the answer to the end.
    pub max_duration_ms: u64,
    /// Whether the model may end the call.
    pub end_call: bool,
    /// Whether words said with `endCall` are protected.
    pub end_call_protected: bool,
    /// Destinations to which the call may be transferred.
    pub transfers: Vec<UsableTransfer>,
    /// Whether words said before a transfer are protected.
    pub transfer_protected: bool,
    /// Agents that may take the call over.
    pub agents: Vec<Successor>,
    /// Whether words said before another agent takes over are protected.
    pub agents_protected: bool,
    /// The present language.
    pub language: String,
    /// Languages that may be spoken. Empty if the language does not change.
    pub languages: Vec<String>,
    /// Whether words said with a change of language are protected.
    pub language_protected: bool,
    /// Whether words said with `skipTurn` are protected.
    pub skip_turn_protected: bool,
    /// Whether the call belongs to no campaign.
    pub single: bool,
    /// Whether tools and transfers are only said to have happened, because the call is a test.
    pub simulated: bool,
    /// Abilities of the carrier.
    pub carrier: CarrierAbilities,
    /// Whether a user's request not to be called again takes effect.
    pub smart_opt_out: bool,
    /// Language model, as the agent names it.
    pub llm: String,
    /// Phrases for situations in which a provider fails.
    pub phrases: Phrases,
    /// Speech directions that the model may write.
    pub directions: Arc<Directions>,
    /// Estimated time to say one byte of text.
    pub byte_ms: u64,
    /// How far a reply is made ahead; a service setting.
    pub speculation: Speculation,
    /// Conversation graph of the agent.
    pub graph: Option<GraphRules>,
    /// Time for which the outcome of a lost dial may stay unknown.
    pub settle_ms: u64,
}

/// Graph of an agent, and what a walk through it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphRules {
    /// The graph.
    pub graph: Arc<Graph>,
    /// Id of the agent.
    pub agent: AgentId,
    /// Values of the placeholders.
    pub known: Arc<BTreeMap<String, String>>,
    /// Whether conditions are judged by the words that were said, because no model can be asked.
    pub by_words: bool,
}

/// Silence in milliseconds that ends a call held in text.
const TEXT_SILENCE_MS: u64 = 600_000;

/// Longest duration of such a call in milliseconds.
const TEXT_DURATION_MS: u64 = 3_600_000;

fn timeout_ms(seconds: f64) -> Option<u64> {
    // The saturating cast is safe: the value was validated when it was saved, and 0 or less means never.
    (seconds > 0.0).then_some((seconds * 1000.0) as u64)
}

fn rendered(place: Place, text: Option<&String>, variables: &BTreeMap<String, String>) -> Option<String> {
    let text = spoken(&template::render(place, text?, variables));
    (!text.is_empty()).then_some(text)
}

/// Returns the texts that an agent says word for word.
fn spoken_texts(agent: &Agent) -> impl Iterator<Item = &str> {
    let config = &agent.conversation_config;
    let section = &config.agent;
    let tools = &section.prompt.built_in_tools;
    let messages = tools.transfer_to_agent.transfers.iter();
    let messages = messages.map(|transfer| &transfer.transfer_message);
    let texts = [&section.greeting_message, &tools.voicemail_detection.voicemail_message];
    let texts = texts.into_iter().chain(messages).filter_map(|text| text.as_deref());
    let own = [&*config.conversation.listening_announcement].into_iter();
    texts.chain(own).chain(agent.disclosure_texts())
}

impl Rules {
    /// Returns the rules for a call that is held in text: nobody is hurried, and no words bridge a wait.
    #[must_use]
    pub fn in_text(self) -> Self {
        let phrases = Phrases {
            fillers: &[],
            ..self.phrases
        };
        Self {
            turn_timeout_ms: None,
            silence_end_ms: Some(TEXT_SILENCE_MS),
            max_duration_ms: TEXT_DURATION_MS,
            speculation: Speculation::Off,
            phrases,
            ..self
        }
    }

    /// Reads the rules from an agent.
    pub fn of(agent: &Agent, variables: &BTreeMap<String, String>, ring_timeout: Duration) -> Self {
        let config = &agent.conversation_config;
        let tools = &config.agent.prompt.built_in_tools;
        let opening = |variables: &BTreeMap<String, String>| {
            let text = spoken(&config.opening(variables));
            (!text.is_empty()).then_some(text)
        };
        let greeting = rendered(Place::Greeting, config.agent.greeting_message.as_ref(), variables);
        let first_words = opening(variables);
        let disclosure = agent.disclosure(variables).map(|text| Likely {
            fixed: agent.disclosure(&BTreeMap::new()).as_ref() == Some(&text),
            text,
        });
        Self {
            says_duration: spoken_texts(agent).any(|text| text.contains(CALL_DURATION)),
            introduction: introduction(agent, greeting.as_deref(), variables),
            ring_timeout_ms: u64::try_from(ring_timeout.as_millis()).unwrap_or(u64::MAX),
            disclosure,
            user_begins: greeting.is_none(),
            greeting_fixed: opening(&BTreeMap::new()) == first_words,
            greeting: first_words,
            greeting_protected: config.agent.disable_first_message_interruptions,
            detects_voicemail: tools.voicemail_detection.tool.enabled,
            voicemail_protected: tools.voicemail_detection.tool.disable_interruption,
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
            max_duration_ms: Self::max_duration_ms(agent),
            end_call: tools.end_call.enabled,
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
            simulated: false,
            carrier: CarrierAbilities::default(),
            smart_opt_out: agent.platform_settings.call_actions.smart_opt_out,
            llm: config.agent.prompt.llm.clone(),
            phrases: Phrases::built_in(&config.agent.primary_language).unwrap_or_else(Phrases::foreign),
            directions: Arc::new(Directions::of(agent)),
            byte_ms: (BYTE_MS / config.tts.speed.max(0.1)) as u64,
            speculation: Speculation::default(),
            graph: None,
            settle_ms: 120_000,
        }
    }

    /// Returns the longest time of a call that begins with this agent.
    pub fn max_duration_ms(agent: &Agent) -> u64 {
        let seconds = agent.conversation_config.conversation.max_duration_seconds;
        u64::try_from(seconds).unwrap_or(0).max(1).saturating_mul(1000)
    }

    /// Returns texts that the agent will probably say, the soonest first.
    pub fn likely_said(&self) -> Vec<Likely> {
        let likely = |text: String, fixed: bool| Likely { text, fixed };
        let greeting = self.greeting.iter();
        let greeting = greeting.map(|text| likely(text.clone(), self.greeting_fixed));
        let own = self.phrases.fillers.iter().map(|filler| format!("{filler} "));
        let own = own.chain([self.phrases.pardon.to_owned()]);
        let first = self.disclosure.iter().cloned().chain(greeting);
        first.chain(own.map(|text| likely(text, true))).collect()
    }

    /// Returns whether the model may end the call for the reason in `arguments`. Without the tool, it may for
    /// an opt-out that takes effect.
    pub fn may_end(&self, arguments: &Value) -> bool {
        self.end_call || self.honours_opt_out(arguments)
    }

    /// Returns whether the `arguments` of `endCall` tell of an opt-out that takes effect.
    pub fn honours_opt_out(&self, arguments: &Value) -> bool {
        self.smart_opt_out && arguments["reason"] == "opt_out"
    }

    /// Returns whether the words said with a tool are protected.
    pub fn protects(&self, tool: &str) -> bool {
        match tool {
            "endCall" => self.end_call_protected,
            "languageDetection" => self.language_protected,
            "skipTurn" => self.skip_turn_protected,
            "transferToAgent" => self.agents_protected,
            "transferToNumber" => self.transfer_protected,
            _ => false,
        }
    }

    /// Returns the time before the limit at which the closing sentence begins, in milliseconds.
    pub fn closing_lead_ms(&self) -> u64 {
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
