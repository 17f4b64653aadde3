//! ElevenLabs, as far as its clients can tell.

mod scribe;
mod speech;

use serde_json::json;

pub use self::{scribe::SCRIBE, speech::SPEECH};
use crate::stub_providers::stub::StubProvider;

pub(super) const STUB: StubProvider = StubProvider {
    name: "elevenlabs",
    routes: || scribe::routes().merge(speech::routes()),
    refusal: |field, why| {
        let detail = json!([{ "loc": [field], "msg": why, "type": "value_error" }]);
        (422, json!({ "detail": detail }))
    },
};
