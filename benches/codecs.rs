//! Cost of 20 ms of a call's audio: codecs, resampling, beeps, babble.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use media::{
    babble::{Listener, Speaker, Voice},
    codec,
    format::Encoding,
    resample::Resampler,
    tone::BeepDetector,
};

/// Samples of 20 ms at 8 kHz.
const FRAME: usize = 160;

/// Returns 10 s of babble.
fn speech(rate: u32) -> Vec<i16> {
    let text = "The parcel has left the depot and will be with you before noon. ".repeat(3);
    let mut speaker = Speaker::new(&text, Voice::named("bench"), rate).expect("a rate that is spoken");
    let mut samples = Vec::new();
    while let Some(chunk) = speaker.next_chunk(1_600) {
        samples.extend(chunk);
    }
    samples
}

fn codecs(c: &mut Criterion) {
    let frame = &speech(8_000)[8_000..8_000 + FRAME];
    for (name, encoding) in [
        ("mu-law", Encoding::MuLaw),
        ("A-law", Encoding::ALaw),
        ("linear16", Encoding::Linear16),
    ] {
        let (mut bytes, mut samples) = (Vec::new(), Vec::new());
        c.bench_function(&format!("encode 20 ms {name}"), |b| {
            b.iter(|| {
                bytes.clear();
                codec::encode(encoding, black_box(frame), &mut bytes);
            });
        });
        c.bench_function(&format!("decode 20 ms {name}"), |b| {
            b.iter(|| {
                samples.clear();
                codec::decode(encoding, black_box(&bytes), &mut samples);
            });
        });
    }
}

fn resampling(c: &mut Criterion) {
    let wide = speech(16_000);
    let mut out = Vec::new();
    for (from, to) in [
        (8_000, 16_000),
        (16_000, 8_000),
        (24_000, 16_000),
        (24_000, 8_000),
        (48_000, 8_000),
    ] {
        let mut resampler = Resampler::new(from, to).expect("a common pair");
        let frame = &wide[8_000..8_000 + from as usize / 50];
        c.bench_function(&format!("resample 20 ms {from} to {to}"), |b| {
            b.iter(|| {
                out.clear();
                resampler.process(black_box(frame), &mut out);
            });
        });
    }
}

fn listening(c: &mut Criterion) {
    let line = speech(8_000);
    let mut frames = line.chunks_exact(FRAME).cycle();
    let (mut detector, mut beeps) = (BeepDetector::new(), Vec::new());
    c.bench_function("listen for a beep in 20 ms", |b| {
        b.iter(|| detector.push(black_box(frames.next().unwrap_or_default()), &mut beeps));
    });
    let mut frames = line.chunks_exact(FRAME).cycle();
    let (mut listener, mut heard) = (Listener::new(), Vec::new());
    c.bench_function("listen to babble of 20 ms", |b| {
        b.iter(|| {
            heard.clear();
            listener.push(black_box(frames.next().unwrap_or_default()), &mut heard);
        });
    });
    for rate in [8_000, 16_000] {
        let text = "The parcel has left the depot. ".repeat(40);
        let whole = Speaker::new(&text, Voice::named("bench"), rate).expect("a rate that is spoken");
        let mut speaker = whole.clone();
        c.bench_function(&format!("speak 20 ms of babble at {rate}"), |b| {
            b.iter(|| match speaker.next_chunk(rate as usize / 50) {
                Some(chunk) => chunk,
                None => {
                    speaker = whole.clone();
                    Vec::new()
                }
            });
        });
    }
}

criterion_group!(benches, codecs, resampling, listening);
criterion_main!(benches);
