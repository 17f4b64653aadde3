//! The documents are true: the tests that they name exist, every setting is described, and every link leads somewhere.

mod fields;
mod links;
mod settings;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    sync::LazyLock,
};

use crate::layout::{all_files, files_below};

/// A file of the repository.
fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file)
}

fn read(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Words between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Every test of the workspace, by its own name: documents name a test as nextest prints it, with its crate and module.
static TESTS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut tests = BTreeSet::new();
    for text in all_files().iter().map(|file| fs::read_to_string(file).unwrap()) {
        let behind = |mark| text.split(mark).skip(1);
        for behind in behind("#[test]").chain(behind("#[tokio::test")) {
            let name = behind.split("fn ").nth(1).and_then(|rest| rest.split('(').next());
            tests.extend(name.map(str::to_owned));
        }
        // A conformance suite makes a test of each name in its list.
        let listed = text
            .lines()
            .map(str::trim)
            .filter(|line| line.contains('_') && is_word(line));
        tests.extend(listed.map(str::to_owned));
    }
    tests
});

fn is_word(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn is_there(name: &str) -> bool {
    TESTS.contains(name.rsplit("::").next().unwrap_or_default())
}

#[test]
fn every_line_of_the_contract_has_a_test_that_exists() {
    let table = read("docs/evidence/contract.md");
    let mut short = BTreeMap::new();
    for line in table.lines().filter(|line| line.starts_with("- *")) {
        let (word, name) = line.trim_start_matches("- ").split_once(": ").unwrap();
        let name = name.trim_matches('`');
        assert!(is_there(name), "{word}: there is no test {name}");
        short.insert(word.to_owned(), name.to_owned());
    }
    let mut sections = BTreeSet::new();
    for row in table.lines().filter(|line| line.starts_with("| ")) {
        let (line, tests) = row.trim_matches('|').split_once('|').unwrap();
        let line = line.trim();
        if ["Line", "Field"].contains(&line) {
            continue;
        }
        let mut count = 0;
        for name in quoted(tests) {
            assert!(is_there(name), "{line}: there is no test {name}");
            count += 1;
        }
        count += short.keys().filter(|word| tests.contains(word.as_str())).count();
        assert!(count > 0, "{line}: has no test");
        sections.insert(line.split(' ').next().unwrap().to_owned());
    }
    let points = |section: u32, count: u32| (1..=count).map(move |point| format!("{section}.{point}"));
    let expected = points(2, 10).chain(points(4, 16)).chain(points(5, 4));
    for section in expected.chain(["3", "6", "7", "8"].map(str::to_owned)) {
        assert!(sections.contains(&section), "section {section} has no line");
    }
}

#[test]
fn every_complaint_and_report_has_a_test_that_exists() {
    for (page, count) in [("complaints", 25), ("reports", 26)] {
        let table = read(&format!("docs/evidence/{page}.md"));
        let rows = table.lines().filter(|line| line.starts_with("| "));
        let mut known = 0;
        for (complaint, tests) in rows.filter_map(|row| row.trim_matches('|').split_once("|")).skip(1) {
            let named: Vec<&str> = quoted(tests)
                .filter(|name| !name.starts_with("ringback-bench"))
                .collect();
            assert!(!named.is_empty(), "{complaint}: has no test");
            for name in named {
                assert!(is_there(name), "{complaint}: there is no test {name}");
            }
            known += 1;
        }
        assert_eq!(known, count, "{page}");
    }
}

#[test]
fn every_variable_of_a_provider_or_carrier_is_on_its_page() {
    let is_variable = |word: &&str| {
        word.contains('_')
            && word
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    let mut pages = read("docs/providers.md") + &read("docs/carriers.md");
    for page in fs::read_dir(path("docs/carriers")).unwrap() {
        pages += &fs::read_to_string(page.unwrap().path()).unwrap();
    }
    let described: BTreeSet<&str> = quoted(&pages).collect();
    let mut files = files_below(&path("adapters/carriers/src/accounts"));
    let root = path("adapters/carriers/src");
    let is_account = |file: &PathBuf| file.ends_with("account.rs") || file.parent() == Some(root.as_path());
    files.extend(files_below(&root).into_iter().filter(is_account));
    let sources: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let product = sources
        .iter()
        .map(|source| source.split("#[cfg(test)]").next().unwrap());
    let of_carriers = product
        .flat_map(|source| source.split('"').skip(1).step_by(2))
        .filter(is_variable);
    let of_carriers: BTreeSet<String> = of_carriers.map(str::to_owned).collect();
    assert!(of_carriers.len() > 10, "{of_carriers:?}");
    let of_providers = providers::settings::variables().map(str::to_owned);
    for variable in of_carriers.into_iter().chain(of_providers) {
        assert!(described.contains(&*variable), "no page of docs/ describes {variable}");
    }
}
