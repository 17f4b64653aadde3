//! The documents stay short, and every link in them leads somewhere.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::{path, read};

/// A longer cell belongs into the text.
const MAX_CELL_CHARS: usize = 200;

/// The documents for readers: those of the root, and the book.
fn documents() -> Vec<PathBuf> {
    let mut found = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "CODE_OF_CONDUCT.md",
    ]
    .map(path)
    .to_vec();
    pages_below(&path("docs"), &mut found);
    found
}

fn pages_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap().path();
        if entry.is_dir() {
            pages_below(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "md") {
            found.push(entry);
        }
    }
}

/// Lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    })
}

/// Text without code spans, whose brackets are no links.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect()
}

/// Addresses of the links and pictures in a document.
fn links(text: &str) -> Vec<String> {
    let prose: Vec<&str> = prose(text).collect();
    let prose = without_code(&prose.join("\n"));
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .map(|target| target.split(' ').next().unwrap_or_default().to_owned())
        .collect()
}

/// Anchors of a document's headings, as code hosts and mdBook make them.
fn anchors(text: &str) -> Vec<String> {
    let mut seen = BTreeMap::new();
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
            let times: &mut usize = seen.entry(anchor.clone()).or_default();
            *times += 1;
            if *times == 1 {
                anchor
            } else {
                format!("{anchor}-{}", *times - 1)
            }
        })
        .collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link
                .split_once('#')
                .map_or((link.as_str(), None), |(file, anchor)| (file, Some(anchor)));
            let target = if file.is_empty() {
                document.clone()
            } else {
                document.parent().unwrap().join(file)
            };
            let found = match anchor {
                None => target.exists(),
                Some(anchor) => {
                    fs::read_to_string(&target).is_ok_and(|text| anchors(&text).iter().any(|found| found == anchor))
                }
            };
            if !found {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn every_page_is_in_the_books_summary() {
    let summary = links(&read("docs/SUMMARY.md"));
    let mut pages = Vec::new();
    pages_below(&path("docs"), &mut pages);
    for page in pages {
        let page = page.strip_prefix(path("docs")).unwrap().to_str().unwrap().to_owned();
        assert!(
            page == "SUMMARY.md" || summary.contains(&page),
            "docs/{page} is not in docs/SUMMARY.md"
        );
    }
}

#[test]
fn the_first_documents_are_short() {
    for (document, most) in [("README.md", 150), ("ARCHITECTURE.md", 350)] {
        let text = read(document);
        let lines = text.lines().count();
        assert!(lines <= most, "{document} has {lines} lines, and may have {most}");
        for row in prose(&text).filter(|line| line.starts_with('|')) {
            let longest = row.split('|').map(|cell| cell.trim().chars().count()).max();
            assert!(longest <= Some(MAX_CELL_CHARS), "{document}: a cell is too long: {row}");
        }
    }
}
