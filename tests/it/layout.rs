//! What a machine can check of the layout: crates and modules depend one way, files and crates stay small, and each file
//! says what it is about.

mod imports;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use carriers::registry::KINDS;
use serde_json::Value;

use imports::cycles;
use providers::registry::PROVIDERS;

/// A product file longer than this has a second subject in it. Its unit tests do not count.
const MAX_FILE_LINES: usize = 500;

/// A crate larger than this no longer shows what it is about. Its unit tests do not count.
const MAX_CRATE_LINES: usize = 40_000;

/// Our crates from the bottom up: each depends only on crates of the lines before its own.
const LAYERS: &[&[&str]] = &[
    &["media"],
    &["domain"],
    &["actors", "net", "testkit"],
    &["peers", "providers", "sim", "storage"],
    &["carriers", "integrations"],
    &["rest"],
    &["dashboard"],
    &["ringback", "support", "turns"],
    &["ringback-bench"],
];

/// The harness that judges running nodes shares no code with them.
const APART: &str = "faults";

/// Foreign crates that a crate of ours must not use.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("media", &["tokio", "axum", "sqlx", "reqwest", "chrono"]),
    (
        "domain",
        &["ractor", "axum", "sqlx", "reqwest", "hyper", "tokio-tungstenite"],
    ),
    ("actors", &["axum", "sqlx", "reqwest", "hyper", "tokio-tungstenite"]),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Adds every source file below a folder.
fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) {
    with_extension(folder, "rs", into);
}

/// Adds every file below a folder with this extension; a folder `target` holds what a build made.
fn with_extension(folder: &Path, extension: &str, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            with_extension(&path, extension, into);
        } else if path.extension().is_some_and(|e| e == extension) {
            into.push(path);
        }
    }
}

/// Returns every source file below a folder.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    rust_files(folder, &mut files);
    files
}

/// Returns every source file of the repository.
pub fn all_files() -> Vec<PathBuf> {
    let folders = ["src", "actors", "adapters", "media", "sim", "tests", "benches"];
    folders
        .iter()
        .flat_map(|folder| files_below(&root().join(folder)))
        .collect()
}

fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

/// Lines of a file without its unit tests.
fn product_lines(path: &Path) -> usize {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines();
    lines.take_while(|line| !line.starts_with("#[cfg(test)]")).count()
}

fn is_test(path: &Path) -> bool {
    let name = name(path);
    name.contains("tests") || name.contains("testkit")
}

/// A crate of the workspace, as cargo sees it.
struct Member {
    name: String,
    folder: PathBuf,
    /// What its product code depends on.
    dependencies: Vec<String>,
}

fn members() -> Vec<Member> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages.iter().map(member).collect()
}

fn member(package: &Value) -> Member {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let dependencies = package["dependencies"].as_array().unwrap();
    Member {
        name: text(&package["name"]),
        folder: PathBuf::from(text(&package["manifest_path"]))
            .parent()
            .unwrap()
            .to_owned(),
        dependencies: dependencies
            .iter()
            .filter(|dependency| dependency["kind"].is_null())
            .map(|dependency| text(&dependency["name"]))
            .collect(),
    }
}

#[test]
fn crates_depend_one_way() {
    let layer: BTreeMap<&str, usize> = LAYERS
        .iter()
        .enumerate()
        .flat_map(|(at, crates)| crates.iter().map(move |name| (*name, at)))
        .collect();
    let members = members();
    for Member { name, dependencies, .. } in &members {
        let ours = dependencies.iter().filter(|d| members.iter().any(|m| m.name == **d));
        if name == APART {
            assert_eq!(ours.count(), 0, "{name} depends on a crate that it judges");
            continue;
        }
        let own = layer.get(name.as_str());
        let own = own.unwrap_or_else(|| panic!("{name} has no layer: add it to LAYERS"));
        for dependency in ours {
            assert!(
                layer[dependency.as_str()] < *own,
                "{name} must not depend on {dependency}"
            );
        }
    }
    for (of, forbidden) in FORBIDDEN {
        let found = members.iter().find(|member| member.name == *of).unwrap();
        for dependency in &found.dependencies {
            assert!(
                !forbidden.contains(&dependency.as_str()),
                "{of} must not use {dependency}"
            );
        }
    }
}

#[test]
fn modules_of_a_crate_form_no_cycle() {
    // The harness is a test, whose modules have yet to be put in order.
    for Member { name, folder, .. } in members().into_iter().filter(|member| member.name != APART) {
        let found = cycles(&folder.join("src"));
        assert!(found.is_empty(), "{name}: {}", found.join("; "));
    }
}

#[test]
fn a_crate_is_small_enough_to_take_in() {
    for Member { name, folder, .. } in members() {
        let files = files_below(&folder.join("src"));
        let product = files.iter().filter(|path| name == "testkit" || !is_test(path));
        let lines: usize = product.map(|path| product_lines(path)).sum();
        assert!(lines <= MAX_CRATE_LINES, "{name} has {lines} lines: divide it");
    }
}

#[test]
fn a_file_has_one_subject() {
    for path in all_files().into_iter().filter(|path| !is_test(path)) {
        let lines = product_lines(&path);
        assert!(
            lines <= MAX_FILE_LINES,
            "{} has {lines} lines: look for its second subject",
            name(&path)
        );
    }
}

/// Adapters are chosen in one place.
#[test]
fn only_app_names_concrete_adapters() {
    let adapters = [
        "SqlStore::open",
        "SimulatedCarrier::new",
        "TwilioCarrier::new",
        "WavRecordings::new",
        "Documents::new",
        "SystemResolver,",
    ];
    // The account commands need a store and nothing else.
    let allowed = ["src/app.rs", "src/app/", "src/main.rs"];
    for path in files_below(&root().join("src")) {
        let file = name(&path);
        if allowed.iter().any(|allowed| file.starts_with(allowed)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for adapter in adapters {
            assert!(!text.contains(adapter), "{file} names {adapter}");
        }
    }
}

/// A new provider is a folder and a line of the registry, so no other code may know one.
#[test]
fn a_provider_is_named_in_its_folder_and_the_registry_alone() {
    let hosted = PROVIDERS.iter().filter(|provider| provider.address.is_some());
    let names: Vec<&str> = hosted.map(|provider| provider.name).collect();
    for (source, folders, registries) in [
        ("adapters/providers/src", "registry", ["registry.rs", "lib.rs"]),
        ("sim/src/stub_providers", "", ["", ""]),
    ] {
        let folders = root().join(source).join(folders);
        let mut codes: BTreeMap<String, String> = BTreeMap::new();
        for path in files_below(&root().join(source))
            .into_iter()
            .filter(|path| !is_test(path))
        {
            let place = path.strip_prefix(&folders).map(|below| below.iter().next().unwrap());
            let place = place.unwrap_or_else(|_| path.strip_prefix(root().join(source)).unwrap().as_os_str());
            let place = place.to_string_lossy();
            if !registries.contains(&&*place) {
                let code = codes.entry(place.trim_end_matches(".rs").to_owned()).or_default();
                code.push_str(&imports::product(&fs::read_to_string(&path).unwrap()));
            }
        }
        for (place, code) in codes {
            let declared = |name: &&&str| code.contains(&format!("name: \"{name}\""));
            let others = names.iter().filter(|name| !declared(name));
            for name in others {
                let said = [format!("\"{name}\""), format!("{name}::"), format!("::{name}")];
                let named = said.iter().find(|said| code.contains(*said));
                assert!(
                    named.is_none(),
                    "{source}: {place} names a provider: {}",
                    named.unwrap()
                );
            }
        }
    }
}

/// `unsafe` is forbidden where the lints are those of the workspace.
/// Files that name carriers beyond their own folders: the lists of all, and samples of values.
const NAMES_CARRIERS: &[&str] = &[
    "actors/domain/src/agent/schema/table.rs",
    "actors/domain/src/prices/list.rs",
    "adapters/carriers/src/lib.rs",
    "adapters/carriers/src/registry.rs",
    "adapters/rest/src/described/answers.rs",
    "adapters/rest/src/resources/account/phone_numbers.rs",
    "adapters/rest/src/resources/account/services.rs",
    "sim/src/schema.rs",
    "sim/src/stub_carriers.rs",
    // The key.
    "media/src/amd/menu.rs",
];

#[test]
fn a_carrier_is_named_in_its_folder_and_in_the_lists_of_all() {
    let real = KINDS.iter().filter(|kind| kind.account.is_some());
    let names: Vec<&str> = real.map(|kind| kind.name).collect();
    let folders = ["adapters/carriers/src", "sim/src/stub_carriers"];
    let own = folders.map(|folder| KINDS.iter().map(move |kind| format!("{folder}/{}", kind.name)));
    let own: Vec<String> = own.into_iter().flatten().collect();
    let mut files = ["src", "actors", "adapters", "media", "sim"]
        .map(|folder| files_below(&root().join(folder)))
        .concat();
    files.retain(|path| !is_test(path));
    with_extension(&root().join("dashboard"), "js", &mut files);
    for path in files {
        let file = name(&path);
        if NAMES_CARRIERS.contains(&&*file) || own.iter().any(|own| file.starts_with(own)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
        for line in lines.map(|line| line.split("//").next().unwrap().to_lowercase()) {
            let named = names.iter().find(|name| line.contains(**name));
            assert_eq!(named, None, "{file}: {line}");
        }
    }
}

#[test]
fn every_crate_of_ours_has_the_workspaces_lints() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(workspace.contains("[workspace.lints.rust]\nunsafe_code = \"forbid\"\n"));
    for Member { name, folder, .. } in members() {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("\n[lints]\nworkspace = true\n"), "{name}");
    }
    // What the fuzzers call is ours and has the lints; their own crate is built by another compiler.
    for file in files_below(&root().join("tests/fuzz")) {
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains("unsafe"), "{}", name(&file));
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
    let mut looked_at = 0;
    for Member { folder, .. } in members() {
        let folder = folder.join("tests/it");
        let Ok(main) = fs::read_to_string(folder.join("main.rs")) else {
            continue;
        };
        looked_at += 1;
        let files: BTreeSet<PathBuf> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        for path in files {
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            let named = stem == "main" || main.contains(&format!("mod {stem};"));
            assert!(named, "{} is not named in main.rs", name(&path));
        }
    }
    assert!(looked_at >= 2, "{looked_at}");
}
