//! What a tool can check of the house rules: the direction of dependencies, file heads and lengths, no `mod.rs`.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A file longer than this without its tests has a second subject in it, or a reason that is named here.
const MAX_LINES: usize = 500;

/// Files that may be longer, each with its reason.
const LONGER: &[(&str, &str)] = &[];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file below a folder.
pub fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

fn all_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in ["src", "actors", "media", "tests", "benches"] {
        rust_files(&root().join(folder), &mut files);
    }
    files
}

fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

#[test]
fn dependencies_point_one_way() {
    for (package, forbidden) in [
        (
            "media",
            &["actors", "ringback", "tokio", "axum", "sqlx", "reqwest", "chrono"][..],
        ),
        (
            "actors",
            &["ringback", "axum", "sqlx", "reqwest", "hyper", "tokio-tungstenite"][..],
        ),
    ] {
        let manifest = fs::read_to_string(root().join(package).join("Cargo.toml")).unwrap();
        let dependencies = manifest
            .split("[dependencies]")
            .nth(1)
            .unwrap()
            .split("[dev-dependencies]")
            .next()
            .unwrap();
        for line in dependencies.lines() {
            let dependency = line.split(['=', '.', ' ']).next().unwrap_or_default();
            assert!(
                !forbidden.contains(&dependency),
                "{package} must not depend on {dependency}"
            );
        }
    }
}

#[test]
fn only_app_names_concrete_adapters() {
    let adapters = [
        "SqlStore::open",
        "SimulatedCarrier::new",
        "TwilioCarrier::new",
        "BabbleTranscriber",
        "BabbleSynthesizer",
        "WavRecordings::new",
        "Documents::new",
        "SystemResolver,",
    ];
    let mut files = Vec::new();
    rust_files(&root().join("src"), &mut files);
    for path in files {
        let file = name(&path);
        // The adapters themselves, the one place that joins them, the account commands, which need a store only, benches
        // that fill one, and those who ask providers how they are.
        if [
            "src/app.rs",
            "src/app/parts.rs",
            "src/main.rs",
            "src/bench/api/seed.rs",
            "src/bench/claims.rs",
            "src/providers/check.rs",
            "src/providers/prober.rs",
        ]
        .contains(&file.as_str())
            || [
                "src/storage",
                "src/carriers",
                "src/speech",
                "src/recordings",
                "src/documents",
                "src/address_policy",
            ]
            .iter()
            .any(|own| file.starts_with(own))
        {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for adapter in adapters {
            assert!(!text.contains(adapter), "{file} names {adapter}");
        }
    }
}

/// `unsafe` is forbidden where the lints are those of the workspace.
#[test]
fn every_crate_of_ours_has_the_workspaces_lints() {
    let whole = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(whole.contains("[workspace.lints.rust]\nunsafe_code = \"forbid\"\n"));
    let members = whole
        .split("members = [")
        .nth(1)
        .and_then(|rest| rest.split(']').next());
    let members = members.unwrap().split(',').map(|name| name.trim().trim_matches('"'));
    let crates: Vec<&str> = members.chain(["."]).collect();
    assert!(crates.len() >= 3, "{crates:?}");
    for folder in crates {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        assert!(manifest.contains("\n[lints]\nworkspace = true\n"), "{folder}");
    }
    // What the fuzzers call is ours and has the lints; their own crate is built by another compiler.
    let mut fuzzers = Vec::new();
    rust_files(&root().join("tests/fuzz"), &mut fuzzers);
    for file in fuzzers {
        assert!(
            !fs::read_to_string(&file).unwrap().contains("unsafe"),
            "{}",
            name(&file)
        );
    }
}

#[test]
fn every_file_says_what_it_is_about() {
    for path in all_files() {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//! "), "{} does not open with //!", name(&path));
        assert!(path.file_name().unwrap() != "mod.rs", "{} is a mod.rs", name(&path));
    }
}

/// A test that no file names is compiled by nobody, and nobody says so.
#[test]
fn every_file_of_tests_is_run() {
    for tests in ["tests/it", "actors/tests/it", "media/tests/it"] {
        let folder = root().join(tests);
        let Ok(main) = fs::read_to_string(folder.join("main.rs")) else {
            continue;
        };
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            let named = stem == "main" || main.contains(&format!("mod {stem};"));
            assert!(named, "{} is not named in main.rs", name(&path));
        }
    }
}

#[test]
fn a_file_has_one_subject() {
    let is_tests = |file: &str| file.contains("tests");
    for path in all_files().into_iter().filter(|path| !is_tests(&name(path))) {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text
            .lines()
            .take_while(|line| !line.starts_with("#[cfg(test)]"))
            .count();
        let file = name(&path);
        let excused = LONGER.iter().any(|(longer, _)| *longer == file);
        assert!(
            lines <= MAX_LINES || excused,
            "{file} has {lines} lines: look for its second subject"
        );
    }
}
