//! Babble end to end.
use super::*;

fn speak(text: &str, rate: u32) -> Vec<i16> {
    let mut speaker = Speaker::new(text, Voice::named("test"), rate).unwrap();
    let mut out = Vec::new();
    while let Some(chunk) = speaker.next_chunk(160) {
        out.extend(chunk);
    }
    assert_eq!(out.len() as u64, speaker.total_samples());
    out
}

#[test]
fn a_text_comes_back() {
    let mut audio = vec![0; 800];
    audio.extend(speak("Hello, could you help me with that? Ich wäre froh. 日本", 8000));
    audio.extend([0; 4000]);
    let rms = (audio.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / audio.len() as f64).sqrt();
    eprintln!("peak {:?} rms {rms}", audio.iter().max());
    let mut heard = Vec::new();
    Listener::new().push(&audio, &mut heard);
    eprintln!("{heard:?}");
    let text: String = heard
        .iter()
        .filter_map(|h| match h {
            Heard::Packet { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(text, "Hello, could you help me with that? Ich wäre froh. 日本");
}
