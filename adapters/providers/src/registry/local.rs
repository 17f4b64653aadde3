//! Servers of the operator's own that speak OpenAI's protocols.

use std::time::Duration;

use crate::{
    endpoint::{Address, hosted},
    protocols::{llm::chat::Chat, tts::speech},
    provider::{List, Llm, MODELS, Provider, Stt, SttWay, Tts},
};

pub(super) static OLLAMA: Provider = Provider {
    name: "ollama",
    address: local(hosted!("OLLAMA", "http://127.0.0.1:11434/v1")),
    llm: Llm::api("", &Chat::PLAIN),
    embeddings: true,
    models: Some(MODELS),
    ..Provider::NONE
};

pub(super) static VLLM: Provider = Provider {
    name: "vllm",
    address: local(hosted!("VLLM", "http://127.0.0.1:8000/v1")),
    llm: Llm::api("", &Chat::PLAIN),
    stt: Stt::clips("openai/whisper-large-v3", 1_000),
    embeddings: true,
    models: Some(MODELS),
    ..Provider::NONE
};

pub(super) static LLAMACPP: Provider = Provider {
    name: "llamacpp",
    address: local(hosted!("LLAMACPP", "http://127.0.0.1:8080/v1")),
    // It serves only one model, whatever its name.
    llm: Llm::api("default", &Chat::PLAIN),
    embeddings: true,
    models: Some(MODELS),
    ..Provider::NONE
};

pub(super) static SPEACHES: Provider = Provider {
    name: "speaches",
    address: local(hosted!("SPEACHES", "http://127.0.0.1:8000/v1")),
    stt: Stt::clips("Systran/faster-whisper-small", 1_000),
    // Its voices have different rates unless one is requested.
    tts: Some(Tts {
        takes: speech::takes,
        ..Tts::hosted("speaches-ai/Kokoro-82M-v1.0-ONNX", "af_bella", speech::voices_at_rate)
    }),
    ..Provider::NONE
};

pub(super) static WHISPERCPP: Provider = Provider {
    name: "whispercpp",
    address: local(hosted!("WHISPERCPP", "http://127.0.0.1:8080/v1")),
    stt: Some(Stt {
        model: "whisper-1",
        way: SttWay::Clips {
            final_within: Duration::from_secs(1),
            wideband: true,
        },
    }),
    ..Provider::NONE
};

pub(super) static KOKORO: Provider = Provider {
    name: "kokoro",
    address: local(hosted!("KOKORO", "http://127.0.0.1:8880/v1")),
    tts: Some(Tts {
        takes: speech::takes,
        ..Tts::hosted("kokoro", "af_bella", speech::voices)
    }),
    voices: Some(List {
        path: "/audio/voices",
        items: "voices",
        page: None,
    }),
    ..Provider::NONE
};

const fn local(address: Address) -> Option<Address> {
    Some(Address { local: true, ..address })
}
