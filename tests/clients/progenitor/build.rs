//! Generates the client from the description that `RINGBACK_OPENAPI` names.

use std::{env, error::Error, fs, path::Path};

use progenitor_impl::{GenerationSettings, Generator, InterfaceStyle};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-env-changed=RINGBACK_OPENAPI");
    let path = env::var("RINGBACK_OPENAPI")?;
    println!("cargo:rerun-if-changed={path}");
    let description: openapiv3::OpenAPI = serde_json::from_str(&fs::read_to_string(&path)?)?;
    let mut generator = Generator::new(GenerationSettings::default().with_interface(InterfaceStyle::Builder));
    let client = generator.generate_tokens(&description)?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("client.rs"), client.to_string())?;
    Ok(())
}
