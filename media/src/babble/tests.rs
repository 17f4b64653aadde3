//! Babble end to end in this crate: lost text is reported, and other sounds are not taken for babble.

use proptest::prelude::*;

use super::*;
use crate::tone::generate;

fn speak(text: &str, rate: u32) -> Vec<i16> {
    let mut speaker = Speaker::new(text, Voice::named("test"), rate).unwrap();
    let mut audio = Vec::new();
    while let Some(chunk) = speaker.next_chunk(160) {
        audio.extend(chunk);
    }
    assert_eq!(audio.len() as u64, speaker.total_samples());
    audio
}

fn listen(audio: &[i16]) -> Vec<ListenerEvent> {
    let (mut listener, mut heard) = (Listener::new(), Vec::new());
    for frame in audio.chunks(160) {
        listener.push(frame, &mut heard);
    }
    heard
}

/// Returns the events of a line after a second of silence, without the interims.
fn facts(audio: &[i16]) -> Vec<ListenerEvent> {
    let mut audio = audio.to_vec();
    audio.extend([0; 24_000]);
    let mut heard = listen(&audio);
    heard.retain(|event| !matches!(event, ListenerEvent::Interim { .. }));
    heard
}

fn packet(text: &str, first: bool, last: bool) -> ListenerEvent {
    ListenerEvent::Packet {
        text: text.into(),
        first,
        last,
    }
}

const TEXT: &str = "We are closed now until Monday at nine, goodbye.";

/// Returns the sample offsets of the packet ends of [`TEXT`] at 8 kHz, from the ends of their words.
fn packet_ends() -> Vec<usize> {
    let speaker = Speaker::new(TEXT, Voice::named("test"), 8_000).unwrap();
    let mut ends: Vec<usize> = speaker.words().iter().map(|word| word.sample_end as usize).collect();
    ends.dedup();
    ends
}

#[test]
fn a_text_comes_back_in_packets_and_grows_in_between() {
    assert_eq!(
        facts(&speak("Hello, could you help?", 8_000)),
        [
            packet("Hello, ", true, false),
            packet("could you ", false, false),
            packet("help?", false, true)
        ]
    );
    let heard = listen(&speak("Grün", 8_000));
    let interim = |text: &str| ListenerEvent::Interim { text: text.into() };
    assert_eq!(
        heard,
        [
            interim("G"),
            interim("Gr"),
            interim("Grü"),
            interim("Grün"),
            packet("Grün", true, true)
        ]
    );
}

#[test]
fn nothing_is_spoken_of_an_empty_text() {
    assert_eq!(speak("", 8_000), []);
}

#[test]
fn every_lost_packet_leaves_one_gap() {
    let audio = speak(TEXT, 8_000);
    let ends = packet_ends();
    let all = facts(&audio);
    assert_eq!(all.len(), ends.len());
    for lost in 0..ends.len() {
        let mut audio = audio.clone();
        let from = if lost == 0 { 1_400 } else { ends[lost - 1] };
        audio[from..ends[lost]].fill(0);
        let mut want = all.clone();
        want[lost] = ListenerEvent::Gap;
        if lost == ends.len() - 1 {
            want.push(ListenerEvent::End);
        }
        assert_eq!(facts(&audio), want, "without packet {lost}");
    }
}

#[test]
fn a_single_packet_that_lost_its_hum_is_missed() {
    for text in ["Yes.", "I", "twelve bytes"] {
        let mut audio = speak(text, 8_000);
        // After 8 ms of silence, 160 ms of lead-in and 20 ms of pause.
        audio[1_500..1_500 + 320].fill(0);
        assert_eq!(facts(&audio), [ListenerEvent::Gap, ListenerEvent::End], "{text}");
    }
}

#[test]
fn a_packet_cut_out_without_a_trace_in_time_is_missed() {
    let ends = packet_ends();
    let whole = speak(TEXT, 8_000);
    for lost in 1..ends.len() - 1 {
        let mut audio = whole.clone();
        audio.drain(ends[lost - 1]..ends[lost]);
        let heard = facts(&audio);
        assert_eq!(
            (heard.len(), &heard[lost]),
            (ends.len(), &ListenerEvent::Gap),
            "without packet {lost}"
        );
    }
    assert_eq!(facts(&whole[ends[0]..])[0], ListenerEvent::Gap, "without the first");
}

#[test]
fn four_lost_packets_are_missed_though_the_sequence_number_is_right_again() {
    let mut audio = speak(TEXT, 8_000);
    let ends = packet_ends();
    assert!(ends.len() >= 6);
    audio[ends[0]..ends[4]].fill(0);
    assert_eq!(facts(&audio)[1], ListenerEvent::Gap);
}

#[test]
fn an_utterance_cut_short_does_not_harm_the_next() {
    let whole = speak(TEXT, 8_000);
    for cut in (1_700..whole.len() - 1_000).step_by(977) {
        let mut audio = whole[..cut].to_vec();
        audio.extend(vec![0; cut % 2_400]);
        audio.extend(speak("Second one here.", 8_000));
        let heard = facts(&audio);
        let gap = heard.iter().position(|event| *event == ListenerEvent::Gap).unwrap();
        let second = [packet("Second one ", true, false), packet("here.", false, true)];
        assert!(heard[gap..].ends_with(&second), "cut at {cut}: {heard:?}");
        assert!(
            heard[..gap]
                .iter()
                .all(|event| matches!(event, ListenerEvent::Packet { last: false, .. }))
        );
    }
}

#[test]
fn tones_noise_and_silence_say_nothing() {
    let mut state = 7u32;
    let mut noise = |amplitude: f32| {
        (0..160_000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                ((state >> 8) as f32 / 8_388_608.0 * amplitude - amplitude) as i16
            })
            .collect::<Vec<i16>>()
    };
    let keys: Vec<i16> = "0123456789*#"
        .chars()
        .flat_map(|key| generate::dtmf(key, 120))
        .collect();
    let sounds = [
        ("silence", vec![0; 16_000]),
        ("faint noise", noise(100.0)),
        ("noise", noise(3_000.0)),
        ("loud noise", noise(20_000.0)),
        ("ringback", generate::ringback(14_000)),
        ("busy", generate::busy(5_000)),
        ("keys", keys),
        ("beep", generate::beep(1_000.0, 800)),
        ("425 Hz", generate::beep(425.0, 1_000)),
    ];
    for (name, audio) in sounds {
        assert_eq!(facts(&audio), [], "{name}");
    }
}

/// Returns a sample of a mains hum of 50 Hz with the harmonics of a bad power supply, at -35 dBFS.
fn mains_hum(n: usize) -> f64 {
    let harmonics = [1.0, 0.6, 0.5, 0.3, 0.05];
    let power: f64 = harmonics.iter().map(|level| level * level / 2.0).sum();
    let amplitude = 32_768.0 * 10f64.powf(-35.0 / 20.0) / power.sqrt();
    let sum = harmonics.iter().zip(1..).map(|(level, k)| {
        let hz = 50.0 * f64::from(k);
        level * (std::f64::consts::TAU * hz * n as f64 / 8_000.0).sin()
    });
    amplitude * sum.sum::<f64>()
}

#[test]
fn mains_hum_is_taken_for_no_packet() {
    for f0 in [105.0, 118.0, 131.0, 144.0, 157.0, 165.0] {
        for offset in [0, 13, 37, 71, 111, 149] {
            let mut speaker = Speaker::new("Friday.", Voice::new(f0), 8_000).unwrap();
            let mut audio = vec![0; 4_000 + offset];
            while let Some(chunk) = speaker.next_chunk(160) {
                audio.extend(chunk);
            }
            audio.extend([0; 4_000]);
            for (n, sample) in audio.iter_mut().enumerate() {
                *sample += mains_hum(n) as i16;
            }
            assert_eq!(facts(&audio), [packet("Friday.", true, true)], "{f0} Hz, {offset}");
        }
    }
}

#[test]
fn finish_ends_an_open_utterance_with_a_gap_and_nothing_else() {
    let audio = speak(TEXT, 8_000);
    let (mut listener, mut heard) = (Listener::new(), Vec::new());
    listener.push(&audio[..packet_ends()[1] + 200], &mut heard);
    assert!(listener.in_utterance());
    heard.clear();
    listener.finish(&mut heard);
    assert_eq!(heard, [ListenerEvent::Gap, ListenerEvent::End]);
    heard.clear();
    listener.finish(&mut heard);
    assert_eq!(heard, []);
}

#[test]
fn a_transcript_shows_what_is_missing_and_where() {
    let mut transcript = Transcript::default();
    assert_eq!(transcript.take(packet("We are ", true, false)), None);
    assert_eq!(transcript.take(ListenerEvent::Interim { text: "clo".into() }), None);
    assert_eq!(transcript.so_far(), "We are clo");
    assert_eq!(transcript.take(ListenerEvent::Gap), None);
    assert_eq!(transcript.so_far(), "We are …");
    let utterance = transcript.take(packet("now.", false, true)).unwrap();
    assert_eq!((utterance.text.as_str(), utterance.damaged), ("We are …now.", true));
    assert!(transcript.is_empty());
}

#[test]
fn of_two_packets_cut_off_one_after_the_other_nothing_stays() {
    // Cut after the last letter, within the checksum, as by an interruption.
    let cut = &speak("Thank you.", 8_000)[..6_720];
    let interim = |text: &str| ListenerEvent::Interim { text: text.into() };
    assert_eq!(listen(cut).last(), Some(&interim("Thank you.")));
    let mut transcript = Transcript::default();
    for event in listen(&[cut, &[0; 1_600], cut, &[0; 1_600]].concat()) {
        assert_eq!(transcript.take(event), None);
    }
    assert_eq!(transcript.so_far(), "…");
}

#[test]
fn a_name_is_a_voice() {
    let voices: Vec<Voice> = ["ann", "bob", "carol", "dave", ""].map(Voice::named).to_vec();
    assert_eq!(voices[0], Voice::named("ann"));
    assert!(voices.iter().all(|voice| (105.0..=165.0).contains(&voice.f0_hz)));
    assert!(
        voices
            .windows(2)
            .all(|pair| (pair[0].f0_hz - pair[1].f0_hz).abs() > 0.5)
    );
}

#[test]
fn other_rates_are_refused() {
    assert_eq!(
        Speaker::new("x", Voice::new(120.0), 44_100).err(),
        Some(UnsupportedRate(44_100))
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn the_lengths_of_the_pieces_change_nothing(text in "\\PC{1,12}", spoken in 1usize..2_000, heard in 1usize..700) {
        let whole = speak(&text, 8_000);
        let mut speaker = Speaker::new(&text, Voice::named("test"), 8_000).unwrap();
        let mut audio = Vec::new();
        while let Some(chunk) = speaker.next_chunk(spoken) {
            prop_assert!(chunk.len() <= spoken.max(8));
            audio.extend(chunk);
        }
        prop_assert_eq!(&audio, &whole);
        let (mut listener, mut events) = (Listener::new(), Vec::new());
        audio.chunks(heard).for_each(|chunk| listener.push(chunk, &mut events));
        prop_assert_eq!(events, listen(&whole));
    }

    #[test]
    fn any_samples_are_survived(samples in proptest::collection::vec(any::<i16>(), 0..4_000)) {
        listen(&samples);
    }
}
