//! Identifiers use the field's terms, and comments begin with their subject.

use std::{collections::BTreeMap, fs};

use crate::layout::all_files;

/// Words that no identifier contains, with the term to use. `words`, `voices`, `listener` and `thinking` have an ordinary
/// meaning too (words of a transcript, voices of a provider, sockets, an agent's state), so they are not listed.
const PRIVATE_WORDS: &[(&str, &str)] = &[
    ("attendant", "event listener"),
    ("away", "unavailable"),
    ("company", "shared limits"),
    ("courier", "delivery worker"),
    ("door", "endpoint"),
    ("doors", "webhooks, endpoints"),
    ("ear", "stt"),
    ("ears", "stt"),
    ("fate", "outcome"),
    ("fates", "outcome"),
    ("lent", "buffer pool"),
    ("minds", "llm"),
    ("mouth", "tts"),
    ("orphan", "orphaned attempt"),
    ("orphans", "orphaned attempts"),
    ("owed", "pending"),
    ("performer", "effects"),
    ("promise", "outstanding"),
    ("promises", "outstanding"),
    ("reaper", "recovery"),
    ("salvage", "recovery"),
    ("shelf", "knowledge cache"),
    ("tape", "audio buffer"),
    ("teller", "tts"),
    ("unwell", "unhealthy"),
    ("whereabouts", "location"),
    ("wire", "codec, protocol, messages"),
];

/// Identifiers that contain such a word and mean something else.
const EXCEPTIONS: &[&str] = &["SignalWire", "SignalWireAnswer"];

/// A comment that begins with one of these words is rarely a plain sentence.
const RIDDLES: [&str; 5] = ["What", "Who", "Whose", "That", "Which"];

/// So many may.
const MAX_RIDDLES: usize = 100;

/// A file's text without comments and literals.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.find(['/', '"', '\'']) {
        let (before, from) = rest.split_at(next);
        code.push_str(before);
        let length = if from.starts_with("//") {
            from.find('\n').unwrap_or(from.len())
        } else if from.starts_with('"') {
            let hashes = before.chars().rev().take_while(|c| *c == '#').count();
            let raw = before.trim_end_matches('#').ends_with('r');
            if raw {
                raw_literal(from, hashes)
            } else {
                literal(from, '"')
            }
        } else if from.starts_with('\'') && (from.starts_with("'\\") || from.chars().nth(2) == Some('\'')) {
            literal(from, '\'')
        } else {
            code.push_str(&from[..1]);
            1
        };
        rest = &from[length..];
    }
    code + rest
}

/// Length of a literal with its quotes.
fn literal(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == quote && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

fn raw_literal(text: &str, hashes: usize) -> usize {
    let end = format!("\"{}", "#".repeat(hashes));
    text[1..].find(&end).map_or(text.len(), |at| at + 1 + end.len())
}

/// Words of an identifier in lower case: `StoreUnavailable` and `store_away` have the same.
fn words_of(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in identifier.chars() {
        if c == '_' || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        if c != '_' {
            words.last_mut().unwrap().extend(c.to_lowercase());
        }
    }
    words
}

#[test]
fn no_identifier_uses_a_private_word() {
    let terms: BTreeMap<&str, &str> = PRIVATE_WORDS.iter().copied().collect();
    let mut found = Vec::new();
    for file in all_files() {
        let code = code(&fs::read_to_string(&file).unwrap());
        let identifiers = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        for identifier in identifiers.filter(|identifier| !EXCEPTIONS.contains(identifier)) {
            for word in words_of(identifier) {
                if let Some(term) = terms.get(&*word) {
                    found.push(format!("{}: `{identifier}`, write {term}", file.display()));
                }
            }
        }
    }
    found.dedup();
    assert!(found.is_empty(), "{} private words:\n{}", found.len(), found.join("\n"));
}

#[test]
fn few_comments_begin_with_a_riddle() {
    let mut found = Vec::new();
    for file in all_files() {
        let text = fs::read_to_string(&file).unwrap();
        let mut is_inside = false;
        for (at, line) in text.lines().enumerate() {
            let comment = line
                .trim_start()
                .strip_prefix("//")
                .map(|rest| rest.trim_start_matches(['/', '!']).trim());
            let first = comment.and_then(|comment| comment.split(|c: char| !c.is_alphabetic()).next());
            // The second line of a comment goes on where the first ended.
            if !is_inside && first.is_some_and(|word| RIDDLES.contains(&word)) {
                found.push(format!("{}:{}: {}", file.display(), at + 1, line.trim()));
            }
            is_inside = comment.is_some_and(|comment| !comment.is_empty());
        }
    }
    assert!(
        found.len() <= MAX_RIDDLES,
        "{} comments:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn literals_and_comments_are_no_code() {
    let text = "let a = \"door \\\" door\"; // door\nlet b = r#\"door \"door\"#; let c = '\"'; fn d<'a>() { '\\'' }";
    assert_eq!(code(text), "let a = ; \nlet b = r#; let c = ; fn d<'a>() {  }");
    assert_eq!(words_of("StoreAway"), ["store", "away"]);
    assert_eq!(words_of("STORE_AWAY"), ["store", "away"]);
    assert_eq!(words_of("signal_wire2"), ["signal", "wire2"]);
}
