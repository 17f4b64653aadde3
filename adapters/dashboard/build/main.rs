//! Writes the files of the folder `dashboard` into the crate, as they are and compressed.

mod bundle;

use std::{error::Error, fmt::Write as _, fs, path::Path};

use bundle::{Bundle, Bundled};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dashboard");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=build");
    let bundle = Bundle::of(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let out = std::env::var("OUT_DIR")?;
    let out = Path::new(&out);
    let mut code = format!(
        "/// Files of this build.\npub static EMBEDDED: Assets = Assets {{\n    base: {:?},\n    index: {},\n    files: &[\n",
        bundle.base,
        literal(&bundle.index, "index", out)?,
    );
    for (number, file) in bundle.files.iter().enumerate() {
        writeln!(code, "        {},", literal(file, &number.to_string(), out)?)?;
    }
    code.push_str("    ],\n};\n");
    fs::write(out.join("embedded.rs"), code)?;
    Ok(())
}

/// Returns the expression of a file, whose content goes into files of this name.
fn literal(file: &Bundled, name: &str, out: &Path) -> Result<String, Box<dyn Error>> {
    let put = |ending: &str, content: &[u8]| -> Result<String, Box<dyn Error>> {
        let path = out.join(format!("{name}.{ending}"));
        fs::write(&path, content)?;
        Ok(format!("include_bytes!({path:?})"))
    };
    let plain = put("plain", &file.plain)?;
    let brotli = file.brotli.as_ref().map(|content| put("br", content)).transpose()?;
    let brotli = brotli.map_or("None".to_owned(), |code| format!("Some({code})"));
    Ok(format!(
        "File {{ path: {:?}, content_type: {:?}, tag: {:?}, plain: {plain}, brotli: {brotli} }}",
        file.path, file.content_type, file.tag
    ))
}
