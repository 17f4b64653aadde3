//! Anthropic, as far as its clients can tell.

mod messages;

use serde_json::json;

pub use self::messages::MESSAGES;
use crate::stub_providers::stub::StubProvider;

pub(super) const STUB: StubProvider = StubProvider {
    name: "anthropic",
    routes: messages::routes,
    refusal: |_, why| {
        let error = json!({ "type": "invalid_request_error", "message": why });
        (400, json!({ "type": "error", "error": error }))
    },
};
