//! Cost of a turn's search in an agent's documents: by words over 10,000 passages, target 10 ms; and
//! the time to index them.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use domain::knowledge::{Document, Library, Question};
use rand::{Rng, SeedableRng, rngs::StdRng};

/// Number of passages of the target.
const PASSAGES: usize = 10_000;

/// Number of words of the documents' language. The n-th word is used about 1/n as often as the first,
/// as in real languages.
const VOCABULARY: f64 = 30_000.0;

const PASSAGES_PER_DOCUMENT: usize = 100;

fn word(chance: &mut StdRng) -> String {
    let rank = VOCABULARY.powf(chance.random::<f64>());
    let syllables = ["ka", "lo", "mi", "ret", "sun", "ter", "vo", "pra", "neb", "dil"];
    // The rank's digits, so that frequent words are short.
    format!("{rank:.0}")
        .bytes()
        .map(|digit| syllables[usize::from(digit - b'0')])
        .collect()
}

fn sentence(chance: &mut StdRng, words: usize) -> String {
    let words: Vec<String> = (0..words).map(|_| word(chance)).collect();
    format!("{}. ", words.join(" "))
}

fn documents(chance: &mut StdRng) -> Vec<Document> {
    let passage = |chance: &mut StdRng| {
        let sentences: String = (0..5).map(|_| sentence(chance, 12)).collect();
        format!("# Heading\n\n{sentences}\n\n")
    };
    let document = |number: usize, chance: &mut StdRng| Document {
        name: format!("Document {number}"),
        text: (0..PASSAGES_PER_DOCUMENT).map(|_| passage(chance)).collect(),
    };
    (0..PASSAGES / PASSAGES_PER_DOCUMENT)
        .map(|number| document(number, chance))
        .collect()
}

fn knowledge(c: &mut Criterion) {
    let mut chance = StdRng::seed_from_u64(7);
    let documents = documents(&mut chance);
    let library = Library::new(documents.clone());
    let passages = library.passages().len();
    assert!(passages >= PASSAGES, "{passages}");
    let questions: Vec<Question> = (0..64)
        .map(|_| Question {
            words: sentence(&mut chance, 12),
            context: sentence(&mut chance, 20),
        })
        .collect();
    let mut group = c.benchmark_group("knowledge");
    group.sample_size(10);
    let mut next = questions.iter().cycle();
    group.bench_function(format!("one turn over {passages} passages"), |b| {
        b.iter(|| {
            let question = next.next().unwrap();
            let hits = library.search(black_box(question), 30);
            library.knowledge(question, &hits)
        });
    });
    group.bench_function(format!("index {passages} passages"), |b| {
        b.iter(|| Library::new(black_box(documents.clone())));
    });
    group.finish();
    println!("{} bytes a passage in memory", library.bytes() / passages);
}

criterion_group!(benches, knowledge);
criterion_main!(benches);
