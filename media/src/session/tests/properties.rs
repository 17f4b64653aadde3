//! For any input in any order, the session ends, the account adds up, and the heard words are a prefix of the text.

use proptest::prelude::*;

use super::carrier::{CARRIER, MARKLESS, PACED, config};
use crate::session::{AudioSession, LineOutput, Manner, Say, SessionConfig, SessionEvent, SpeechId};

#[derive(Debug, Clone)]
enum Input {
    Voice(usize),
    Silence(usize),
    Mark(u64),
    Interim(&'static str),
    Final(&'static str, bool),
    Say(u64, &'static str, bool, bool, bool),
    Release(u64),
    Synthesize(usize),
    EndSynthesis,
    FailSynthesis,
    Stop,
    Allow(bool),
    OperatorJoins,
    OperatorAudio(usize),
    OperatorLeaves,
    Tick,
}

fn input() -> impl Strategy<Value = Input> {
    let words = || prop::sample::select(vec!["", "mm-hm", "no wait", "my number is", "Stop."]);
    prop_oneof![
        3 => (0usize..900).prop_map(Input::Voice),
        2 => (0usize..900).prop_map(Input::Silence),
        2 => (0u64..30).prop_map(Input::Mark),
        1 => words().prop_map(Input::Interim),
        1 => (words(), any::<bool>()).prop_map(|(w, damaged)| Input::Final(w, damaged)),
        2 => (0u64..6, prop::sample::select(vec!["", "one two three", "four"]), any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(speech, text, last, protected, held)| Input::Say(speech, text, last, protected, held)),
        1 => (0u64..6).prop_map(Input::Release),
        4 => (0usize..8_000).prop_map(Input::Synthesize),
        2 => Just(Input::EndSynthesis),
        1 => Just(Input::FailSynthesis),
        1 => Just(Input::Stop),
        1 => any::<bool>().prop_map(Input::Allow),
        1 => Just(Input::OperatorJoins),
        3 => (0usize..5_000).prop_map(Input::OperatorAudio),
        1 => Just(Input::OperatorLeaves),
        2 => Just(Input::Tick),
    ]
}

struct Run {
    session: AudioSession,
    job: u64,
    said: std::collections::BTreeMap<u64, String>,
    started: u32,
    ended: u32,
}

impl Run {
    fn apply(&mut self, input: &Input, now: u64) {
        let session = &mut self.session;
        match *input {
            Input::Voice(n) => {
                let loud: Vec<u8> = (0..n).map(|i| if i / 20 % 2 == 0 { 0x90 } else { 0x10 }).collect();
                session.receive(&loud, now);
            }
            Input::Silence(n) => session.receive(&vec![0xff; n], now),
            Input::Mark(id) => session.mark(&format!("m{id}"), now),
            Input::Interim(text) => session.interim(text, now),
            Input::Final(text, damaged) => session.settled(text, damaged, now),
            Input::Say(speech, text, last, protected, held) => session.say(
                Say {
                    speech: SpeechId(speech),
                    text: text.to_owned(),
                    manner: Manner::default(),
                    last,
                    protected,
                    held,
                },
                now,
            ),
            Input::Synthesize(n) => session.synthesized(self.job, &vec![900; n], &[], now),
            Input::EndSynthesis => session.synthesis_ended(self.job, now),
            Input::FailSynthesis => {
                session.synthesis_failed(self.job, now);
            }
            Input::Release(speech) => session.release(SpeechId(speech), now),
            Input::Stop => session.stop_speaking(now),
            Input::Allow(allowed) => session.allow_barge_in(allowed, now),
            Input::OperatorJoins => session.operator_joins(now),
            Input::OperatorAudio(n) => {
                session.operator_audio(&vec![700; n], now);
            }
            Input::OperatorLeaves => session.operator_leaves(now),
            Input::Tick => session.tick(now),
        }
        if let Input::Say(speech, text, ..) = *input {
            let said = self.said.entry(speech).or_default();
            said.push_str(if said.is_empty() || text.is_empty() { "" } else { " " });
            said.push_str(text);
        }
    }

    fn check(&mut self, now: u64) -> Result<(), TestCaseError> {
        if let Some(job) = self.session.next_text() {
            self.job = job.generation;
        }
        while let Some(output) = self.session.poll_output() {
            prop_assert!(!matches!(output, LineOutput::Audio(audio) if audio.is_empty()));
        }
        let [sent, played, cleared, outstanding] = self.session.account();
        prop_assert_eq!(sent, played + cleared + outstanding);
        while let Some(event) = self.session.poll_event() {
            match event {
                SessionEvent::BargedIn { speech, heard, at_ms }
                | SessionEvent::SpeakingEnded { speech, heard, at_ms } => {
                    let said = self.said.get(&speech.0).cloned().unwrap_or_default();
                    prop_assert!(said.starts_with(&heard), "{heard:?} of {said:?}");
                    prop_assert!(at_ms <= now);
                }
                SessionEvent::SpeechStarted { .. } => self.started += 1,
                SessionEvent::UtteranceEnded(_) => self.ended += 1,
                _ => {}
            }
        }
        prop_assert!(
            self.session.next_deadline().is_none_or(|at| at > now || now == 0),
            "deadlines lie ahead"
        );
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_sequence_of_inputs_ends(
        line in 0usize..3,
        record in any::<bool>(),
        inputs in prop::collection::vec((input(), 0u64..400), 1..120),
    ) {
        let abilities = [CARRIER, MARKLESS, PACED][line];
        let session = AudioSession::new(&SessionConfig { record, ..config(abilities) }).unwrap();
        let mut run = Run { session, job: 0, said: Default::default(), started: 0, ended: 0 };
        let mut now = 0;
        for (input, wait) in inputs {
            now += wait;
            run.apply(&input, now);
            run.check(now)?;
        }
        // The line and the synthesiser fall silent: deadlines alone must bring everything to rest.
        let mut turns = 0;
        while let Some(deadline) = run.session.next_deadline() {
            turns += 1;
            prop_assert!(turns < 3_000, "deadlines go on for ever");
            now = now.max(deadline);
            run.session.tick(now);
            if let Some(job) = run.session.synthesis() {
                run.session.synthesis_ended(job, now);
            }
            run.check(now)?;
        }
        prop_assert!(run.ended <= run.started);
        // A speech that was never finished waits for its last mark without a deadline.
        run.session.tick(now + 10_000);
        let [sent, played, cleared, _] = run.session.account();
        prop_assert_eq!(sent, played + cleared);
    }
}
