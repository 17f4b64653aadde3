//! Questions in callers' words about documents of small businesses in five languages. Counts how often the
//! passage with the answer is among the first three. `cargo nextest run -p actors --features testkit
//! retrieval --no-capture` prints the figure.

use std::{fs, path::Path};

use domain::knowledge::{Document, Library, Question};

/// Required hits of 50. 46 were found when this was set. Documents and questions were written before the
/// first search, which found 45.
const FLOOR: usize = 45;

/// Number of passages considered.
const TOP: usize = 3;

/// A question and the place of its answer.
struct Asked {
    document: String,
    /// Words in the passage with the answer.
    has: String,
    words: String,
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/retrieval"))
}

fn documents() -> Vec<Document> {
    let mut files: Vec<_> = fs::read_dir(folder().join("documents"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    let read = files.iter().map(|file| Document {
        name: file.file_name().unwrap().to_str().unwrap().to_owned(),
        text: fs::read_to_string(file).unwrap(),
    });
    read.collect()
}

fn questions() -> Vec<Asked> {
    let lines = fs::read_to_string(folder().join("questions.tsv")).unwrap();
    let questions = lines.lines().map(|line| {
        let [document, has, words] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        Asked {
            document: document.into(),
            has: has.into(),
            words: words.into(),
        }
    });
    questions.collect()
}

/// Returns the rank of the passage with the answer, from 1.
fn rank(library: &Library, documents: &[Document], asked: &Asked) -> Option<usize> {
    let hits = library.search(&Question::of_words(&asked.words), TOP);
    let answers = |passage: usize| {
        let passage = &library.passages()[passage];
        documents[passage.document].name == asked.document && passage.text(documents).contains(&asked.has)
    };
    hits.iter().position(|hit| answers(hit.passage)).map(|at| at + 1)
}

#[test]
fn questions_are_answered_among_the_first_three_passages() {
    let (documents, questions) = (documents(), questions());
    assert_eq!((documents.len(), questions.len()), (20, 50));
    for asked in &questions {
        let document = documents.iter().find(|document| document.name == asked.document);
        assert!(
            document.is_some_and(|document| document.text.contains(&asked.has)),
            "{}",
            asked.has
        );
    }
    // Files would be found by words in their names.
    let nameless = documents.iter().map(|document| Document {
        name: String::new(),
        text: document.text.clone(),
    });
    let library = Library::new(nameless.collect());
    let ranks: Vec<Option<usize>> = questions
        .iter()
        .map(|asked| rank(&library, &documents, asked))
        .collect();
    let hits = ranks.iter().flatten().count();
    let first = ranks.iter().filter(|rank| **rank == Some(1)).count();
    for (asked, _) in questions.iter().zip(&ranks).filter(|(_, rank)| rank.is_none()) {
        println!("missed: {} ({})", asked.words, asked.document);
    }
    println!(
        "top {TOP}: {hits} of {}, first: {first}, passages: {}",
        questions.len(),
        library.passages().len()
    );
    assert!(hits >= FLOOR, "{hits} of {}", questions.len());
}
