//! Deepgram, as far as its clients can tell.

mod flux;
mod listen;
mod speak;

use serde_json::json;

pub use self::{flux::FLUX, listen::LISTEN, speak::SPEAK};
use crate::stub_providers::stub::StubProvider;

pub(super) const STUB: StubProvider = StubProvider {
    name: "deepgram",
    routes: || flux::routes().merge(listen::routes()).merge(speak::routes()),
    refusal: |_, why| (400, json!({ "err_code": "Bad Request", "err_msg": why })),
};
