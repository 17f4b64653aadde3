//! The files of a folder: which are taken, their types, hashes and compressed forms.

use std::{collections::BTreeSet, fmt::Write, fs, io, path::Path};

use sha2::{Digest, Sha256};

/// Page for a build without a dashboard.
const NO_INDEX: &str = "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Ringback</title>\n\
                        <h1>Ringback</h1>\n<p>This build has no dashboard. The <a href=\"/docs\">API</a> works.</p></html>\n";

/// Types by the ending of the name. Those of texts are compressed.
const TYPES: [(&str, &str); 18] = [
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain; charset=utf-8"),
    ("LICENSE", "text/plain; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("png", "image/png"),
    ("webp", "image/webp"),
    ("gif", "image/gif"),
    ("ico", "image/x-icon"),
    ("woff2", "font/woff2"),
    ("wav", "audio/wav"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
];

/// Names of files and folders for developers.
const LEFT_OUT: [&str; 4] = ["node_modules", "tsconfig.json", "package.json", "package-lock.json"];

/// All files of the dashboard.
pub struct Bundle {
    /// Path below which they are served; it changes with every file.
    pub base: String,
    /// The page.
    pub index: Bundled,
    /// The other files, sorted by path.
    pub files: Vec<Bundled>,
}

/// One file.
pub struct Bundled {
    /// Path in the folder, with `/`.
    pub path: String,
    /// Content type.
    pub content_type: &'static str,
    /// Hash of the content.
    pub tag: String,
    /// Content.
    pub plain: Vec<u8>,
    /// Content compressed with Brotli, if that is smaller.
    pub brotli: Option<Vec<u8>>,
}

impl Bundled {
    fn new(path: String, plain: Vec<u8>) -> io::Result<Self> {
        let ending = path.rsplit_once('.').map_or("txt", |(_, ending)| ending);
        let known = TYPES.iter().find(|(name, _)| *name == ending);
        let content_type = known.map_or("application/octet-stream", |(_, content_type)| content_type);
        let is_text = ["text/", "application/json", "image/svg"]
            .iter()
            .any(|start| content_type.starts_with(start));
        let brotli = if is_text { Some(compressed(&plain)?) } else { None };
        Ok(Self {
            content_type,
            tag: hash([&*plain]),
            brotli: brotli.filter(|content| content.len() < plain.len()),
            path,
            plain,
        })
    }
}

impl Bundle {
    /// Reads a folder, which may be missing. In its `index.html`, `="./` becomes the address of the other files. The
    /// browser loads the scripts of the start side by side, instead of one after the other as they import each other.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let mut found = Vec::new();
        if folder.is_dir() {
            collect(folder, "", &mut found)?;
        }
        found.sort();
        let base = format!(
            "/dashboard/{}/",
            hash(found.iter().flat_map(|(path, content)| [path.as_bytes(), content]))
        );
        let index = found.iter().position(|(path, _)| path == "index.html");
        let index = match index.map(|at| found.remove(at)) {
            Some((_, content)) => String::from_utf8(content).map_err(io::Error::other)?,
            None => NO_INDEX.to_owned(),
        };
        let mut scripts = BTreeSet::new();
        add_with_imports("app.js", &found, &mut scripts);
        let mut links = String::new();
        for script in scripts {
            let _ = writeln!(links, "<link rel=\"modulepreload\" href=\"./{script}\">");
        }
        let index = index.replace("</head>", &format!("{links}</head>"));
        let index = index.replace("=\"./", &format!("=\"{base}"));
        let files = found.into_iter().map(|(path, content)| Bundled::new(path, content));
        Ok(Self {
            index: Bundled::new("index.html".into(), index.into_bytes())?,
            files: files.collect::<io::Result<_>>()?,
            base,
        })
    }
}

/// Adds the files below a folder with their paths. Hidden files, and those for developers, are left out.
fn collect(folder: &Path, prefix: &str, found: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry
            .file_name()
            .into_string()
            .map_err(|name| io::Error::other(format!("{name:?} is not UTF-8")))?;
        let is_source = [".md", ".ts"].iter().any(|ending| name.ends_with(ending));
        if name.starts_with('.') || is_source || LEFT_OUT.contains(&&*name) {
            continue;
        }
        let path = format!("{prefix}{name}");
        match entry.file_type()?.is_dir() {
            true => collect(&entry.path(), &format!("{path}/"), found)?,
            false => found.push((path, fs::read(entry.path())?)),
        }
    }
    Ok(())
}

/// Adds a script, and those that it imports with `from './…'` or `from '../…'`. Folders are one level deep.
fn add_with_imports(script: &str, files: &[(String, Vec<u8>)], found: &mut BTreeSet<String>) {
    let Some((_, content)) = files.iter().find(|(path, _)| path == script) else {
        return;
    };
    if !found.insert(script.to_owned()) {
        return;
    }
    let folder = script.rsplit_once('/').map_or("", |(folder, _)| folder);
    for line in String::from_utf8_lossy(content).lines() {
        let imported = line.split_once(" from '").and_then(|(_, rest)| rest.split_once('\''));
        match imported.map(|(path, _)| path.split_once('/')) {
            Some(Some((".", path))) if !folder.is_empty() => {
                add_with_imports(&format!("{folder}/{path}"), files, found);
            }
            Some(Some(("." | "..", path))) => add_with_imports(path, files, found),
            _ => {}
        }
    }
}

/// Returns the first half of a hash of parts, in hex. The length of each counts too.
fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex::encode(&hash.finalize()[..16])
}

fn compressed(mut plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let params = brotli::enc::BrotliEncoderParams {
        quality: 11,
        lgwin: 22,
        size_hint: plain.len(),
        ..brotli::enc::BrotliEncoderParams::default()
    };
    brotli::BrotliCompress(&mut plain, &mut content, &params)?;
    Ok(content)
}
