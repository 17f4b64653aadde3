//! Every field of an agent has a test of its effect, which mentions the field.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use super::{quoted, read};
use crate::layout::all_files;

/// Returns the functions of a source file by name. A function ends at the first closing brace that stands where its
/// `fn` line begins.
fn functions(text: &str) -> BTreeMap<&str, &str> {
    let mut functions = BTreeMap::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let indent = line.len() - line.trim_start().len();
        let words = line
            .trim_start()
            .trim_start_matches("pub ")
            .trim_start_matches("async ");
        let Some(rest) = words.strip_prefix("fn ") else {
            continue;
        };
        let name = rest.split(['(', '<']).next().unwrap();
        let end = format!("\n{}}}\n", &line[..indent]);
        let end = text[start..].find(&end).map_or(text.len(), |end| start + end);
        functions.insert(name, &text[start..end]);
    }
    functions
}

/// Returns whether a text has the field's name as a whole word.
fn mentions(text: &str, field: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| word == field)
}

/// Returns whether a test mentions a field, itself or in functions of its file that it calls.
fn is_about(functions: &BTreeMap<&str, &str>, test: &str, field: &str) -> bool {
    let mut reached = BTreeSet::from([test]);
    let mut open = vec![test];
    while let Some(body) = open.pop().and_then(|name| functions.get(name)) {
        if mentions(body, field) {
            return true;
        }
        let called = functions.keys().filter(|name| mentions_call(body, name));
        open.extend(called.filter(|name| reached.insert(name)));
    }
    false
}

fn mentions_call(body: &str, name: &str) -> bool {
    body.match_indices(name).any(|(at, _)| {
        let before = body[..at].chars().next_back();
        let before = before.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        before && body[at + name.len()..].starts_with('(')
    })
}

/// Fields that the service reads of free-form objects, sections without an effect of their own, and the one field that
/// another subject holds.
const NO_ROW: &str = "source target overrides to cc subject includeTranscript conversationConfig platformSettings \
    agent asr turn tts conversation prompt callActions dataCollection callRetry privacy telephony workflow edges nodes \
    preventSubagentLoops router";

#[test]
fn every_field_of_an_agent_has_a_test_of_its_effect() {
    let text = read("docs/evidence/contract.md");
    let table = text.split("### What each field of an agent does").nth(1).unwrap();
    let table = table.split("\n### ").next().unwrap();
    let sources: Vec<String> = all_files()
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let files: Vec<BTreeMap<&str, &str>> = sources.iter().map(|text| functions(text)).collect();
    let mut known = BTreeSet::new();
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let (fields, tests) = row.trim_matches('|').split_once('|').unwrap();
        let tests: Vec<&str> = quoted(tests).map(|name| name.rsplit("::").next().unwrap()).collect();
        for field in quoted(fields) {
            let field = field.rsplit('.').next().unwrap().trim_end_matches("[]");
            let about = |test: &&str| files.iter().any(|functions| is_about(functions, test, field));
            assert!(tests.iter().any(about), "{field}: none of {tests:?} mentions it");
            known.insert(field);
        }
    }
    let source = read("actors/domain/src/agent/schema/table.rs");
    let fields: Vec<&str> = ["optional(", "required("]
        .iter()
        .flat_map(|call| source.split(call).skip(1))
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
        .collect();
    assert!(fields.len() > 80, "{}", fields.len());
    let without: BTreeSet<&str> = fields
        .into_iter()
        .filter(|field| !known.contains(field) && NO_ROW.split_whitespace().all(|name| name != *field))
        .collect();
    assert!(without.is_empty(), "no row in docs/evidence/contract.md: {without:?}");
}
