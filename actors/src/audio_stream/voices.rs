//! The voices of one call. The agent's usual voice is open from the start, the others open when a reply first
//! uses them.

use std::sync::Arc;

use media::session::SynthesisJob;

use super::terms::{other_voice, usual_voice};
use domain::{
    agent::Agent,
    ports::{
        synthesizer::{Likely, SpeechStream, Synthesizer, Voice, VoiceConfig},
        usage::Meter,
    },
};

/// Number of voices open at once beside the usual one; each may hold a connection. The least recently used
/// one is closed to make room.
const MOST_OPEN: usize = 3;

/// A sample rate in Hz for uses where it does not matter.
const ANY_RATE: u32 = 8_000;

pub(super) struct Voices {
    synthesizer: Arc<dyn Synthesizer>,
    agent: Arc<Agent>,
    sample_rate: u32,
    meter: Meter,
    usual: Box<dyn Voice>,
    usual_config: VoiceConfig,
    /// Open voices by number, the most recently used last.
    others: Vec<(usize, Box<dyn Voice>)>,
    /// Voices of an agent that has handed over. They stay open until the next text is spoken.
    retired: Vec<Box<dyn Voice>>,
}

impl Voices {
    /// Opens an agent's usual voice, which may prefetch texts that the agent will probably say.
    pub(super) fn open(
        synthesizer: Arc<dyn Synthesizer>,
        agent: Arc<Agent>,
        (sample_rate, meter): (u32, Meter),
        likely: &[Likely],
    ) -> Self {
        let usual_config = usual_voice(&agent, sample_rate, meter.clone());
        let mut usual = synthesizer.open(usual_config.clone());
        for likely in likely {
            usual.prepare(likely);
        }
        Self {
            synthesizer,
            agent,
            sample_rate,
            meter,
            usual,
            usual_config,
            others: Vec::new(),
            retired: Vec::new(),
        }
    }

    /// Speaks a text in the voice it is meant for.
    pub(super) fn speak(&mut self, job: SynthesisJob) -> SpeechStream {
        self.retired.clear();
        self.voice(job.manner.voice).perform(job.text, job.manner.cues)
    }

    /// Switches to another agent from the next text on.
    pub(super) fn adopt(&mut self, agent: Arc<Agent>) {
        self.usual_config = usual_voice(&agent, self.sample_rate, self.meter.clone());
        let usual = self.synthesizer.open(self.usual_config.clone());
        self.retired = self.others.drain(..).map(|(_, voice)| voice).collect();
        self.retired.push(std::mem::replace(&mut self.usual, usual));
        self.agent = agent;
    }

    fn voice(&mut self, number: usize) -> &mut Box<dyn Voice> {
        if let Some(at) = self.others.iter().position(|(open, _)| *open == number) {
            self.others[at..].rotate_left(1);
        } else if let Some(voice) = self.open_other(number) {
            if self.others.len() >= MOST_OPEN {
                self.others.remove(0);
            }
            self.others.push((number, voice));
        } else {
            return &mut self.usual;
        }
        self.others.last_mut().map_or(&mut self.usual, |(_, voice)| voice)
    }

    /// Opens another voice. Returns `None` if the number stands for the usual voice or for no voice.
    fn open_other(&self, number: usize) -> Option<Box<dyn Voice>> {
        let supported = &self.agent.conversation_config.tts.supported_voices;
        let wanted = supported.get(number.checked_sub(1)?)?;
        let config = other_voice(&self.agent, wanted, (self.sample_rate, self.meter.clone()));
        (!config.sounds_like(&self.usual_config)).then(|| self.synthesizer.open(config))
    }
}

/// Returns the agent as its voices can speak it: without expressive mode if none of its voices supports audio tags.
pub(crate) fn performable(agent: &Arc<Agent>, synthesizer: &dyn Synthesizer) -> Arc<Agent> {
    let tts = &agent.conversation_config.tts;
    let meter = Meter::default;
    let mut others = tts.supported_voices.iter();
    let acts = |config: &VoiceConfig| synthesizer.takes_cues(config);
    let able = !tts.expressive_mode
        || acts(&usual_voice(agent, ANY_RATE, meter()))
        || others.any(|voice| acts(&other_voice(agent, voice, (ANY_RATE, meter()))));
    if able {
        return agent.clone();
    }
    let mut plain = Agent::clone(agent);
    plain.conversation_config.tts.expressive_mode = false;
    Arc::new(plain)
}

#[cfg(test)]
mod tests {
    use media::session::Manner;
    use serde_json::json;

    use super::*;
    use testkit::fake_speech::FakeSynthesizer;

    fn job(voice: usize) -> SynthesisJob {
        SynthesisJob {
            generation: 1,
            text: "x".into(),
            manner: Manner {
                voice,
                cues: Vec::new(),
            },
        }
    }

    #[tokio::test]
    async fn voices_are_opened_when_they_are_needed_and_few_stay_open() {
        let labels = ["a", "b", "c", "d", "e"];
        let supported = labels.map(|label| json!({ "label": label, "voiceId": label }));
        let agent: Agent = serde_json::from_value(json!({ "conversationConfig": { "tts": {
            "voiceId": "e", "supportedVoices": supported
        } } }))
        .unwrap();
        let fake = FakeSynthesizer::default();
        let counted = (8_000, Meter::default());
        let mut voices = Voices::open(Arc::new(fake.clone()), Arc::new(agent), counted, &[]);
        let names = |fake: &FakeSynthesizer| {
            let (opened, open) = fake.opened();
            (opened.iter().map(|voice| voice.voice.clone()).collect::<String>(), open)
        };
        assert_eq!(names(&fake), ("e".into(), 1));
        for (number, opened, open) in [
            (1, "ea", 2),
            (1, "ea", 2),
            (2, "eab", 3),
            (3, "eabc", 4),
            (1, "eabc", 4),
            // The least recently used voice is closed to make room.
            (4, "eabcd", 4),
            (1, "eabcd", 4),
            (2, "eabcdb", 4),
            // The usual voice by another number, then a number without a voice.
            (5, "eabcdb", 4),
            (6, "eabcdb", 4),
        ] {
            drop(voices.speak(job(number)));
            assert_eq!(names(&fake), (opened.into(), open), "{number}");
        }
        let spoken: String = fake.performed().into_iter().map(|(voice, ..)| voice).collect();
        assert_eq!(spoken, "aabcadabee");
    }
}
