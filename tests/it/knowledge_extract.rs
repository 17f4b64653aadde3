//! Reading documents in a separate process: a bomb, a panic or a hang costs one document.

use std::{io::Write, os::unix::fs::PermissionsExt, path::PathBuf};

use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress};
use integrations::documents::{
    extract::{ExtractError, Extractor, Source, TEXT_BYTES},
    format::{Format, Recognised},
};
use tempfile::TempDir;

use support::pdf;

fn real() -> Extractor {
    Extractor::new(env!("CARGO_BIN_EXE_ringback").into())
}

fn of(format: Format) -> Recognised {
    Recognised { format, charset: None }
}

async fn read(extractor: &Extractor, format: Format, bytes: impl Into<Bytes>) -> Result<String, ExtractError> {
    extractor.text(Source::Bytes(bytes.into()), &of(format)).await
}

/// Creates a program that runs this shell script.
fn script(folder: &TempDir, body: &str) -> Extractor {
    let path: PathBuf = folder.path().join("reads");
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(format!("#!/bin/sh\n{body}\n").as_bytes()).unwrap();
    file.set_permissions(std::fs::Permissions::from_mode(0o700)).unwrap();
    drop(file);
    Extractor::new(path)
}

fn unreadable(outcome: Result<String, ExtractError>) -> String {
    match outcome {
        Err(ExtractError::Unreadable(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// Returns deflated zeros, `mebibytes` of them.
fn deflated_zeros(mebibytes: usize) -> Vec<u8> {
    let zeros = vec![0; 1024 * 1024];
    let mut head = Vec::with_capacity(64 * 1024);
    let mut block = Vec::with_capacity(64 * 1024);
    let mut compress = Compress::new(Compression::fast(), true);
    compress.compress_vec(&zeros, &mut head, FlushCompress::Full).unwrap();
    compress.compress_vec(&zeros, &mut block, FlushCompress::Full).unwrap();
    let blocks = std::iter::repeat_n(block, mebibytes - 1).flatten();
    head.into_iter().chain(blocks).collect()
}

#[tokio::test]
async fn a_document_is_read_from_memory_and_from_a_file() {
    let words = read(&real(), Format::Pdf, pdf::saying("Hello there")).await.unwrap();
    assert_eq!(words, "Hello there");
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"from a file").unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let words = real().text(Source::File(file), &of(Format::Text)).await;
    assert_eq!(words.as_deref(), Ok("from a file"));
}

#[tokio::test]
async fn bombs_cost_one_document_each() {
    let bomb = pdf::with_content(&deflated_zeros(2_000), "/Filter /FlateDecode");
    assert!(bomb.len() < 10 * 1024 * 1024);
    let nested = format!("<p>deep</p>{}", "<div>".repeat(2_000));
    let extractor = real();
    unreadable(read(&extractor, Format::Pdf, bomb).await);
    // Any result is allowed, because it happens in its own process.
    let _ = read(&extractor, Format::Html, nested).await;
    let loops = pdf::saying("x").iter().map(|byte| *byte as char).collect::<String>();
    let loops = loops
        .replace("/Parent 2 0 R", "/Parent 3 0 R")
        .replace("/Kids [3 0 R]", "/Kids [2 0 R]");
    let _ = read(&extractor, Format::Pdf, loops.into_bytes()).await;
    assert_eq!(
        read(&extractor, Format::Text, "still here").await.as_deref(),
        Ok("still here")
    );
}

#[tokio::test]
async fn more_text_than_is_kept_is_refused_not_cut() {
    let most = "a".repeat(TEXT_BYTES);
    assert_eq!(read(&real(), Format::Text, most.clone()).await, Ok(most.clone()));
    let refused = unreadable(read(&real(), Format::Text, most + "b").await);
    assert!(refused.contains("more than 4 MiB of text"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_document_that_hangs_its_reader_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let refused = unreadable(read(&script(&folder, "exec sleep 1000"), Format::Text, "x").await);
    assert!(refused.contains("more than 10 s"), "{refused}");
}

#[tokio::test]
async fn a_reader_that_dies_or_raves_costs_one_document() {
    let folder = tempfile::tempdir().unwrap();
    for body in ["exit 101", "kill -9 $$", "kill -6 $$", "cat >/dev/null; exit 1"] {
        let refused = unreadable(read(&script(&folder, body), Format::Html, "x".repeat(5_000_000)).await);
        assert!(refused.contains("cannot be read"), "{body}: {refused}");
    }
    let endless = script(&folder, "exec yes");
    unreadable(read(&endless, Format::Text, "x").await);
    let nothing = Extractor::new(folder.path().join("nothing"));
    let broken = read(&nothing, Format::Text, "x").await;
    assert!(matches!(broken, Err(ExtractError::Broken(_))), "{broken:?}");
}

#[tokio::test]
async fn the_reader_is_given_no_secret_and_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let shows = script(&folder, "/usr/bin/env; pwd");
    let shown = read(&shows, Format::Text, "x").await.unwrap();
    assert!(!shown.contains("CARGO") && !shown.contains("HOME="), "{shown}");
    assert!(shown.lines().any(|line| line == "/"), "{shown}");
}
