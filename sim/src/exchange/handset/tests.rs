//! A caller that speaks babble to a handset; time is a number.

use media::babble::{Speaker, Transcript};

use super::*;
use crate::exchange::persona::{Person, Persona};

struct Caller {
    handset: Handset,
    now_us: u64,
    log: Vec<LogEvent>,
    marks: Vec<(u64, String)>,
    voice: Vec<i16>,
    hung_up: bool,
}

impl Caller {
    fn of(persona: Persona) -> Self {
        let behaviour = persona.behaviour(Person::new("+15551234561", 7));
        Self {
            handset: Handset::new(behaviour, "+15551234561").on_line(&persona.line(), "+15551234561"),
            now_us: 0,
            log: Vec::new(),
            marks: Vec::new(),
            voice: Vec::new(),
            hung_up: false,
        }
    }

    fn run(&mut self, frames: u32) {
        for _ in 0..frames {
            if self.hung_up {
                return;
            }
            self.now_us += 20_000;
            let frame = self.handset.tick(self.now_us);
            let now_us = self.now_us;
            self.marks
                .extend(frame.marks.into_iter().map(|mark| (now_us / 1_000, mark)));
            match frame.voice {
                Some(bytes) => codec::decode(Encoding::MuLaw, &bytes, &mut self.voice),
                None => self.voice.extend([0; 160]),
            }
            self.hung_up |= frame.hang_up;
            self.log.extend(self.handset.take_log());
        }
    }

    fn send(&mut self, audio: Vec<u8>) {
        assert!(self.handset.receive(Incoming::Audio(audio), self.now_us).is_empty());
    }

    fn mark(&mut self, name: &str) {
        assert!(
            self.handset
                .receive(Incoming::Mark(name.into()), self.now_us)
                .is_empty()
        );
    }

    /// Says something and runs until the handset has noticed the end of it.
    fn say(&mut self, text: &str) {
        let audio = mulaw(text);
        let frames = audio.len() / 160 + 1;
        self.send(audio);
        self.run(u32::try_from(frames).unwrap() + 32);
    }

    fn said(&self) -> Vec<&str> {
        let texts = self.log.iter().filter_map(|event| match event {
            LogEvent::Said { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    fn heard(&self) -> Vec<(&str, bool)> {
        let texts = self.log.iter().filter_map(|event| match event {
            LogEvent::Heard { text, whole, .. } => Some((text.as_str(), *whole)),
            _ => None,
        });
        texts.collect()
    }
}

fn mulaw(text: &str) -> Vec<u8> {
    let mut speaker = Speaker::new(text, Voice::named("agent"), 8_000).unwrap();
    let mut bytes = Vec::new();
    while let Some(samples) = speaker.next_chunk(160) {
        codec::encode(Encoding::MuLaw, &samples, &mut bytes);
    }
    bytes
}

fn understood(samples: &[i16]) -> Vec<String> {
    let (mut listener, mut transcript, mut heard) = (media::babble::Listener::new(), Transcript::default(), Vec::new());
    listener.push(samples, &mut heard);
    heard
        .into_iter()
        .filter_map(|event| transcript.take(event).map(|utterance| utterance.text))
        .collect()
}

#[test]
fn a_conversation_is_heard_and_answered_to_the_letter() {
    let mut caller = Caller::of(Persona::Cooperative);
    caller.run(130);
    caller.say("Good morning, this is Ava. What is your name?");
    caller.run(250);
    caller.say("Thank you. Goodbye!");
    caller.run(600);
    assert!(caller.hung_up);
    assert_eq!(
        caller.heard(),
        [
            ("Good morning, this is Ava. What is your name?", true),
            ("Thank you. Goodbye!", true)
        ]
    );
    assert_eq!(caller.said().len(), 3);
    assert!(caller.said()[1].starts_with("My name is "));
    assert_eq!(understood(&caller.voice), caller.said());
    let figures = caller.handset.end();
    assert_eq!((figures.gaps, figures.response_us.len()), (0, 2));
}

#[test]
fn the_response_time_runs_from_the_last_voiced_frame_to_the_first_audio() {
    let mut caller = Caller::of(Persona::Cooperative);
    while caller.log.is_empty() {
        caller.run(1);
    }
    let LogEvent::Said { to_ms, .. } = caller.log[0] else {
        panic!("{:?}", caller.log);
    };
    caller.run(50);
    let audio = mulaw("Good morning.");
    caller.now_us += 7_000;
    caller.send(audio);
    let waited_us = caller.now_us - (to_ms - 20) * 1_000;
    assert_eq!(caller.handset.end().response_us, [waited_us]);
}

#[test]
fn a_stall_in_mid_sentence_is_a_gap_and_one_between_sentences_is_not() {
    let mut caller = Caller::of(Persona::Silent);
    let audio = mulaw("This sentence is cut in two by a stall.");
    let (one, two) = audio.split_at(9_600);
    caller.send(one.to_vec());
    caller.run(60 + 5);
    caller.send(two.to_vec());
    caller.run(u32::try_from(two.len() / 160).unwrap() + 5);
    caller.say("This one is whole.");
    let figures = caller.handset.end();
    assert_eq!(figures.gaps, 1);
    // Playout ran dry 1.2 s after the first frame began, at 20 ms; the rest came at 1,300 ms.
    assert_eq!(figures.longest_gap_us, 80_000);
}

#[test]
fn marks_come_back_with_the_sound_and_at_once_after_a_clear() {
    let mut caller = Caller::of(Persona::Silent);
    caller.send(vec![0xff; 1_600]);
    caller.mark("ten frames");
    caller.run(20);
    assert_eq!(caller.marks, [(220, "ten frames".to_owned())]);
    caller.send(vec![0xff; 80_000]);
    caller.mark("never heard");
    caller.run(5);
    assert_eq!(caller.handset.receive(Incoming::Clear, caller.now_us), ["never heard"]);
}

#[test]
fn an_interruption_is_timed_to_the_clear_and_what_was_played_is_what_was_heard() {
    let mut caller = Caller::of(Persona::Interrupts);
    caller.run(130);
    caller.say("Good morning, this is Ava. How are you?");
    caller.run(250);
    let text = "I am calling about your order of last week, which is now on its way to you.";
    caller.send(mulaw(text));
    while caller.handset.meter.figures(0).barge_in_us.is_empty() {
        caller.run(1);
        if caller.handset.both_talk() {
            caller.run(15);
            assert!(caller.handset.receive(Incoming::Clear, caller.now_us).is_empty());
        }
    }
    caller.run(400);
    assert_eq!(caller.handset.meter.figures(0).barge_in_us, [300_000]);
    let (heard, whole) = caller.heard()[1];
    assert!(
        !whole && heard.len() > 3 && text.starts_with(heard.trim_end_matches('…')),
        "{heard}"
    );
}

#[test]
fn a_mailbox_greets_beeps_and_records() {
    let mut caller = Caller::of(Persona::Voicemail);
    caller.run(380);
    let Some(LogEvent::Beeped { to_ms }) = caller.log.last() else {
        panic!("{:?}", caller.log);
    };
    assert!((6_000..8_000).contains(to_ms), "{to_ms}");
    let beep = &caller.voice[usize::try_from((to_ms - 400) * 8).unwrap()..usize::try_from((to_ms - 20) * 8).unwrap()];
    let crossings = beep.windows(2).filter(|pair| (pair[0] < 0) != (pair[1] < 0)).count();
    let hz = crossings as f64 / 2.0 / (beep.len() as f64 / 8_000.0);
    assert!((hz - 1_000.0).abs() < 20.0, "{hz}");
    caller.say("This is Ava, please call back.");
    assert_eq!(caller.heard(), [("This is Ava, please call back.", true)]);
    caller.run(1_600);
    assert!(caller.hung_up);
}

#[test]
fn a_callee_who_hangs_up_does_so_in_mid_sentence() {
    let mut caller = Caller::of(Persona::HangsUp);
    caller.run(130);
    caller.say("Good morning, this is Ava. How are you?");
    caller.run(250);
    caller.say("I am calling about your order of last week, which is now on its way.");
    assert!(caller.hung_up);
    caller.handset.end();
    caller.log.extend(caller.handset.take_log());
    let (heard, whole) = caller.heard()[1];
    assert!(!whole && heard.starts_with("I am"), "{heard}");
}

#[test]
fn who_stands_in_noise_or_hum_is_still_understood_to_the_letter() {
    for persona in [
        Persona::Noisy,
        Persona::Hum,
        Persona::Echo,
        Persona::Hesitant,
        Persona::Spells,
    ] {
        let mut caller = Caller::of(persona);
        caller.run(130);
        caller.say("Good morning, this is Ava. What is your order number?");
        caller.run(500);
        let said = caller.said();
        assert!(said.len() == 2, "{persona:?}: {said:?}");
        let understood = understood(&caller.voice).join(" ");
        let expected = match persona {
            // The agent's words come back as an echo between its own words.
            Persona::Echo => said.join(" Good morning, this is Ava. What is your order number? "),
            _ => said.join(" "),
        };
        assert_eq!(understood, expected, "{persona:?}");
    }
}

#[test]
fn a_silence_in_mid_sentence_is_silent_and_the_sentence_is_one_on_record() {
    let mut caller = Caller::of(Persona::Hesitant);
    caller.run(130);
    caller.say("What is your name?");
    let begun = caller.voice.len();
    caller.run(400);
    let reply = caller.log.iter().rev().find_map(|event| match event {
        LogEvent::Said {
            text, from_ms, to_ms, ..
        } => Some((text.clone(), *from_ms, *to_ms)),
        _ => None,
    });
    let (text, from_ms, to_ms) = reply.unwrap();
    assert!(text.starts_with("My name is"), "{text}");
    // In one go it takes 75 ms a letter.
    assert!(
        to_ms - from_ms > text.len() as u64 * 75 + 300,
        "{text}: {from_ms} to {to_ms}"
    );
    let frames: Vec<bool> = caller.voice[begun..].chunks(160).map(loud).collect();
    let first = frames.iter().position(|loud| *loud).unwrap();
    let last = frames.iter().rposition(|loud| *loud).unwrap();
    let silent = frames[first..last]
        .split(|loud| *loud)
        .map(<[bool]>::len)
        .max()
        .unwrap();
    assert!((30..=100).contains(&silent), "{silent} frames");
}

#[test]
fn a_cough_that_stops_the_agent_is_a_false_stop_and_the_agent_s_return_is_timed() {
    let mut caller = Caller::of(Persona::Noisy);
    caller.run(130);
    caller.say("Good morning.");
    caller.run(200);
    let audio = mulaw("I am calling about your order of last week, which is now on its way to you.");
    caller.send(audio.clone());
    let mut ran = 0;
    while caller.handset.meter.figures(0).false_stops == 0 {
        caller.run(1);
        ran += 1;
        assert!(ran < 200, "no cough");
        if caller.handset.synthesiser.is_speaking() {
            caller.run(10);
            caller.handset.receive(Incoming::Clear, caller.now_us);
        }
    }
    caller.run(15);
    caller.send(audio[24_000..].to_vec());
    caller.run(1);
    let figures = caller.handset.meter.figures(0);
    assert_eq!((figures.false_stops, figures.resume_us.len()), (1, 1));
    assert!(figures.resume_us[0] <= 300_000, "{figures:?}");
    let kinds: Vec<bool> = caller
        .log
        .iter()
        .filter_map(|event| match event {
            LogEvent::Cleared { unplayed_ms, .. } => Some(*unplayed_ms > 0),
            LogEvent::Resumed { after_ms, .. } => Some(*after_ms <= 300),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, [true, true]);
}
