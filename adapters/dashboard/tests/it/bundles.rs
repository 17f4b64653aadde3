//! Tests of the files that the build takes.

#[path = "../../build/bundle.rs"]
mod bundle;

use std::{fs, path::Path};

use bundle::Bundle;

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn base(files: &[(&str, &[u8])]) -> String {
    Bundle::of(folder(files).path()).unwrap().base
}

fn decompressed(mut content: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    brotli::BrotliDecompress(&mut content, &mut plain).unwrap();
    plain
}

#[test]
fn each_file_is_taken_with_its_type_and_texts_are_compressed() {
    let script = "let x = 1;\n".repeat(100);
    let page = "<script type=\"module\" src=\"./app.js\"></script><a href=\"./a/b.css\">".repeat(3);
    let picture = [7; 400];
    let folder = folder(&[
        ("index.html", page.as_bytes()),
        ("app.js", script.as_bytes()),
        ("a/b.css", b"p{}"),
        ("a/deep/er/ä.png", &picture),
        ("LICENSE", b"MIT"),
        ("x.unknown", b"?"),
        (".hidden/x.js", b"1"),
        ("README.md", b"# x"),
        ("types.d.ts", b"x"),
        ("tsconfig.json", b"{}"),
        ("node_modules/x/y.js", b"1"),
    ]);
    let bundle = Bundle::of(folder.path()).unwrap();
    let found: Vec<_> = bundle
        .files
        .iter()
        .map(|file| (&*file.path, file.content_type))
        .collect();
    assert_eq!(
        found,
        [
            ("LICENSE", "text/plain; charset=utf-8"),
            ("a/b.css", "text/css; charset=utf-8"),
            ("a/deep/er/ä.png", "image/png"),
            ("app.js", "text/javascript; charset=utf-8"),
            ("x.unknown", "application/octet-stream"),
        ]
    );
    let script_file = &bundle.files[3];
    assert_eq!(script_file.plain, script.as_bytes());
    let compressed = script_file.brotli.as_ref().unwrap();
    assert!(compressed.len() < script.len() / 4);
    assert_eq!(decompressed(compressed), script.as_bytes());
    assert_ne!(script_file.tag, bundle.files[1].tag);
    // Three bytes do not become fewer, and a picture is compressed already.
    assert!(bundle.files[1].brotli.is_none() && bundle.files[2].brotli.is_none());
    let page = String::from_utf8(bundle.index.plain).unwrap();
    let base = &bundle.base;
    assert!(page.contains(&format!("src=\"{base}app.js\"")) && page.contains(&format!("href=\"{base}a/b.css\"")));
    assert!(!page.contains("./"));
    assert_eq!(decompressed(&bundle.index.brotli.unwrap()), page.as_bytes());
}

#[test]
fn the_page_names_all_scripts_of_its_start() {
    let folder = folder(&[
        ("index.html", b"<html><head></head></html>"),
        (
            "app.js",
            b"import { a } from './lib/a.js';\nimport('./pages/later.js');\n",
        ),
        (
            "lib/a.js",
            b"import {\n  b,\n} from './b.js';\nimport x from './missing.js';\n",
        ),
        (
            "lib/b.js",
            b"import { a } from './a.js';\nimport { c } from '../parts/c.js';\n",
        ),
        ("pages/later.js", b"import { c } from '../parts/c.js';\n"),
        ("parts/c.js", b"import '../lib/unused.css';\n"),
    ]);
    let bundle = Bundle::of(folder.path()).unwrap();
    let page = String::from_utf8(bundle.index.plain).unwrap();
    let named: Vec<_> = page
        .split("<link rel=\"modulepreload\" href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next()?.strip_prefix(&*bundle.base))
        .collect();
    assert_eq!(named, ["app.js", "lib/a.js", "lib/b.js", "parts/c.js"]);
}

#[test]
fn the_address_changes_with_every_name_and_content() {
    let first = base(&[("index.html", b"x"), ("a.js", b"1"), ("b.js", b"2")]);
    assert_eq!(first, base(&[("index.html", b"x"), ("a.js", b"1"), ("b.js", b"2")]));
    assert_eq!(
        first,
        base(&[("index.html", b"x"), ("a.js", b"1"), ("b.js", b"2"), ("x.md", b"1")])
    );
    for other in [
        &[("index.html", &b"y"[..]), ("a.js", b"1"), ("b.js", b"2")][..],
        &[("index.html", b"x"), ("a.js", b"2"), ("b.js", b"2")],
        &[("index.html", b"x"), ("a.js", b"1"), ("c.js", b"2")],
        &[("index.html", b"x"), ("a.js", b"1b.js2")],
        &[("index.html", b"x"), ("a.js", b"1")],
    ] {
        assert_ne!(first, base(other), "{other:?}");
    }
}

#[test]
fn a_build_without_a_dashboard_says_so() {
    for folder in [folder(&[]), folder(&[("app.js", b"1")])] {
        let page = Bundle::of(folder.path()).unwrap().index.plain;
        assert!(String::from_utf8(page).unwrap().contains("has no dashboard"));
    }
    let missing = Bundle::of(Path::new("/nowhere/at/all")).unwrap();
    assert!(missing.files.is_empty());
}
