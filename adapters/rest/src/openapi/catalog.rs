//! Voices and language models that the configured providers offer.

use serde_json::{Value, json};

use crate::described::operation::Operation;
use crate::resources::account::catalog::{ModelList, NO_SAMPLE, VoiceList};

const NOTE: &str = "The same for all accounts. Lists are kept for 10 minutes. A provider whose list cannot be read is \
                    named in `unavailable`. At most 1,000 items of each provider are listed.";

fn of_provider(operation: Operation, schema: Value) -> Operation {
    let operation = operation.ours().note(NOTE);
    operation.query("provider", "Only this provider", schema).invalid(
        "provider",
        "invalid_value",
        "`acme` is not a configured provider of these; leave it out to list all",
    )
}

/// Returns the operations of voices and models.
pub fn operations() -> Vec<Operation> {
    let schema = || json!({ "type": "string" });
    let failed = json!({ "provider": "deepgram", "error": "answered with status 401" });
    let voice = json!({
        "provider": "elevenlabs",
        "voiceId": "elevenlabs:JBFqnCBsd6RMkjVDRZzb",
        "name": "George",
        "languages": ["en"],
        "labels": { "accent": "british" },
        "previewUrl": "https://storage.example.com/george.mp3",
    });
    let model = json!({ "provider": "openai", "model": "openai/gpt-4.1-mini" });
    let voices = Operation::get("/public/v1/voices", "listVoices", "List the voices of the providers");
    let models = Operation::get(
        "/public/v1/models",
        "listModels",
        "List the language models of the providers",
    );
    let sample = Operation::get(
        "/public/v1/voices/preview",
        "getVoicePreview",
        "Get the sample of a voice",
    )
    .ours()
    .note("The audio at the voice's `previewUrl`, at most 10 MiB, for pages that may load nothing from elsewhere.")
    .query("voiceId", "A `voiceId` of the list; required", schema())
    .raw(
        "200",
        "audio/*",
        "The sample, as its provider has it",
        json!({}),
        Value::Null,
    )
    .invalid("voiceId", "required", "is required")
    .invalid("voiceId", "invalid_value", NO_SAMPLE)
    .fails(
        502,
        "upstream_failed",
        "the provider's sample cannot be had: https://storage.example.com/george.mp3 answered 404 Not Found",
    );
    vec![
        of_provider(voices, schema()).ok::<VoiceList>(json!({ "voices": [voice], "unavailable": [failed] })),
        of_provider(models, schema()).ok::<ModelList>(json!({ "models": [model], "unavailable": [] })),
        sample,
    ]
}
