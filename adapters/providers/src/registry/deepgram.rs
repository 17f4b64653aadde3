//! Deepgram: two recognisers, `/v1/listen` and Flux, and the voices of Aura.

mod aura;
mod flux;
mod listen;

use crate::{
    endpoint::{Address, Privacy, hosted},
    provider::{List, Provider, Stt, SttWay, Tts},
};

pub(super) static DEEPGRAM: Provider = Provider {
    name: "deepgram",
    address: Some(Address {
        key_header: ("authorization", "Token "),
        privacy: Some(Privacy {
            argument: "deepgram-mip-opt-out",
            variable: "RINGBACK_DEEPGRAM_MIP_OPT_OUT",
            help: "Whether Deepgram is asked not to use audio and texts to improve its models; its price may be higher",
            default: "false",
            parameter: ("mip_opt_out", "true"),
        }),
        ..hosted!("DEEPGRAM", "https://api.deepgram.com")
    }),
    stt: Some(Stt {
        model: listen::MODEL,
        way: SttWay::Socket {
            open: |endpoint, model, config| match model.filter(|model| is_flux(model)) {
                Some(model) => Box::new(flux::Flux::new(endpoint, model, config)),
                None => Box::new(listen::Listen::new(endpoint, model, config)),
            },
            others: &["flux"],
            // Flux documents 8, 16, 24, 44.1 and 48 kHz.
            sample_rate: |model, wanted| match wanted {
                22_050 if model.is_some_and(is_flux) => 24_000,
                wanted => wanted,
            },
        },
    }),
    tts: Some(Tts {
        voices_are_models: true,
        ..Tts::hosted("", aura::VOICE, aura::voices)
    }),
    voices: Some(List {
        path: "/v1/models",
        items: "tts",
        page: None,
    }),
    ..Provider::NONE
};

fn is_flux(model: &str) -> bool {
    model.starts_with("flux")
}
