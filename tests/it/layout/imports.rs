//! Finds which top-level modules of a crate use each other, from its `use` declarations and paths.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::files_below;

/// Modules used by each module, with the files that use them.
type Uses = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Returns the cycles among the top-level modules of a crate, each as its modules and one file a link.
pub fn cycles(source: &Path) -> Vec<String> {
    let uses = uses(source);
    let reached: BTreeMap<&String, BTreeSet<&String>> = uses.keys().map(|from| (from, reach(&uses, from))).collect();
    let mut told = Vec::new();
    let mut seen = BTreeSet::new();
    for (module, beyond) in &reached {
        if !beyond.contains(module) || !seen.insert(*module) {
            continue;
        }
        let back = |other: &&&String| reached.get(**other).is_some_and(|there| there.contains(module));
        let cycle: BTreeSet<&String> = beyond.iter().filter(back).copied().collect();
        seen.extend(&cycle);
        let links = cycle.iter().flat_map(|from| {
            let within = uses[*from].iter().filter(|(to, _)| cycle.contains(to));
            within.map(move |(to, files)| format!("{from} uses {to} in {}", files.first().unwrap()))
        });
        told.push(links.collect::<Vec<_>>().join(", "));
    }
    told
}

fn reach<'u>(uses: &'u Uses, from: &String) -> BTreeSet<&'u String> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&String> = uses.get(from).into_iter().flat_map(BTreeMap::keys).collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(uses.get(module).into_iter().flat_map(BTreeMap::keys));
        }
    }
    found
}

fn uses(source: &Path) -> Uses {
    let files = files_below(source);
    let path_of = |file: &Path| -> Vec<String> {
        let relative = file.strip_prefix(source).unwrap().with_extension("");
        relative
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect()
    };
    let modules: BTreeSet<String> = files.iter().map(|file| path_of(file)[0].clone()).collect();
    let reexported = fs::read_to_string(source.join("lib.rs")).map_or_else(|_| BTreeMap::new(), |lib| reexports(&lib));
    let mut uses = Uses::new();
    for file in &files {
        let module = path_of(file);
        let is_test = module.iter().any(|part| part == "tests" || part.ends_with("_tests"));
        if is_test || matches!(module[0].as_str(), "lib" | "main") {
            continue;
        }
        for path in paths(&product(&fs::read_to_string(file).unwrap())) {
            let Some(first) = top_level(&module, &path) else {
                continue;
            };
            let to = if modules.contains(&first) {
                Some(&first)
            } else {
                reexported.get(&first)
            };
            if let Some(to) = to.filter(|to| **to != module[0] && modules.contains(*to)) {
                let links = uses.entry(module[0].clone()).or_default();
                links.entry(to.clone()).or_default().insert(module.join("/"));
            }
        }
    }
    uses
}

/// Returns a file's text without comments and unit tests.
pub fn product(text: &str) -> String {
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    lines
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the first segment below the crate's root of a path in a module, or `None` if it belongs to another crate.
fn top_level(module: &[String], path: &str) -> Option<String> {
    let mut segments = path.split("::").map(str::trim);
    let mut base = match segments.next()? {
        "crate" => Vec::new(),
        "super" => module[..module.len() - 1].to_vec(),
        _ => return None,
    };
    let rest: Vec<&str> = segments
        .skip_while(|segment| *segment == "super" && base.pop().is_some())
        .collect();
    base.into_iter().chain(rest.into_iter().map(str::to_owned)).next()
}

/// Returns every path that begins with `crate` or `super`, with each branch of a `use` as a separate path.
fn paths(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for lead in ["crate::", "super::"] {
        let starts = text.match_indices(lead).map(|(at, _)| at);
        let own =
            starts.filter(|at| !text[..*at].ends_with([':', '$']) && !text[..*at].ends_with(char::is_alphanumeric));
        for at in own {
            expand(&text[at..], String::new(), &mut found);
        }
    }
    found
}

/// Reads one path with its braces; returns the rest of the text.
fn expand<'t>(text: &'t str, before: String, found: &mut Vec<String>) -> &'t str {
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || "_:*".contains(c)))
        .unwrap_or(text.len());
    let (own, mut rest) = text.split_at(end);
    let path = before + own;
    if !(path.ends_with("::") && rest.starts_with('{')) {
        found.push(path);
        return rest;
    }
    rest = &rest[1..];
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        if let Some(behind) = rest.strip_prefix('}') {
            return behind;
        }
        let shorter = expand(rest, path.clone(), found);
        // An alias, or something that is not a path.
        let stop = shorter.find([',', '}']).unwrap_or(shorter.len());
        rest = &shorter[stop..];
        if rest.is_empty() {
            return rest;
        }
    }
}

/// Returns the names that the crate's root re-exports, by the module they come from.
fn reexports(lib: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for declaration in lib.split("pub use ").skip(1) {
        let mut found = Vec::new();
        expand(declaration, String::new(), &mut found);
        for path in found {
            let segments: Vec<&str> = path
                .split("::")
                .filter(|part| !matches!(*part, "self" | "crate"))
                .collect();
            if let [module, .., name] = segments[..] {
                names.insert(name.to_owned(), module.to_owned());
            }
        }
    }
    names
}

#[test]
fn a_cycle_is_found_through_braces_and_super() {
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("lib.rs", "mod a;\nmod b;\nmod c;\npub use b::Thing;\n");
    write("a.rs", "use crate::{\n    b::{One, Two as Other},\n    c,\n};\n");
    write("b.rs", "// use crate::a;\n");
    write("b/deep.rs", "fn f() -> super::super::c::T { todo() }\n");
    write("c.rs", "#[cfg(test)]\nmod tests {\n    use super::super::a;\n}\n");
    assert_eq!(cycles(folder.path()), Vec::<String>::new());
    write("c.rs", "use super::Thing;\n");
    assert_eq!(cycles(folder.path()), ["b uses c in b/deep, c uses b in c"]);
}
