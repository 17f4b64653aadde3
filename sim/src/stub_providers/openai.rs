//! OpenAI, as far as its clients can tell, with the deviations of servers that speak its protocols.

mod chat_completions;
mod embeddings;
mod refusal;
mod speech;
mod transcriptions;

pub use self::{
    chat_completions::CHAT_COMPLETIONS, embeddings::EMBEDDINGS, speech::SPEECH, transcriptions::TRANSCRIPTIONS,
};
use crate::stub_providers::stub::StubProvider;

pub(super) const STUB: StubProvider = StubProvider {
    name: "openai",
    routes: || {
        chat_completions::routes()
            .merge(embeddings::routes())
            .merge(speech::routes())
            .merge(transcriptions::routes())
    },
    refusal: refusal::misfit,
};
