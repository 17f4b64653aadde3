//! Tests of the settings that keep providers from storing what is said in calls.

use std::sync::{Arc, Mutex};

use axum::{Router, http::Uri};
use clap::Parser;
use domain::ports::{synthesizer::Synthesizer, transcriber::Transcriber, usage::Meter};
use providers::{
    babble::BabbleTranscriber, config::ProviderConfig, configured::Configured, settings::ProviderSettings,
};
use tokio::{net::TcpListener, time::Duration};

use crate::{stt::support, tts};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    providers: ProviderConfig,
}

/// Returns the addresses that recogniser and voice of a service with these arguments ask for.
async fn asked(arguments: &[&str]) -> Vec<String> {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    let server = Router::new().fallback(async move |uri: Uri| {
        log.lock().unwrap().push(uri.to_string());
        axum::http::StatusCode::NOT_FOUND
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, server).await });
    let mut config = Arguments::try_parse_from(["ringback"].iter().chain(arguments))
        .unwrap()
        .providers;
    let settings = ProviderSettings::read(|name| name.ends_with("_BASE_URL").then(|| url.clone()));
    config.settings = Some(settings.unwrap());
    let providers = Configured::new(&config, Arc::new(BabbleTranscriber), None).unwrap();
    let stream = providers.stt.open(support::config(&Meter::default()), Box::new(|_| {}));
    let mut voice = providers.tts.open(tts::config(8_000, &Meter::default()));
    drop(tts::listen(voice.speak("Hello.".into())).await);
    while asked
        .lock()
        .unwrap()
        .iter()
        .all(|uri: &String| uri.contains("speak") || uri.contains("text-to"))
    {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop((stream, voice));
    server.abort();
    asked.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn providers_are_asked_not_to_keep_what_is_said_if_the_operator_says_so() {
    tts::tick();
    let (opt_out, no_logging) = ("--deepgram-mip-opt-out=true", "--elevenlabs-logging=false");
    for (stt, voice, setting, parameter) in [
        ("deepgram", "deepgram", opt_out, "mip_opt_out=true"),
        ("deepgram/flux", "deepgram", opt_out, "mip_opt_out=true"),
        ("elevenlabs", "elevenlabs", no_logging, "enable_logging=false"),
        ("elevenlabs", "elevenlabs/eleven_v3", no_logging, "enable_logging=false"),
    ] {
        let names = ["--stt", stt, "--tts", voice];
        let asks = |uri: &String| uri.contains(parameter);
        let usual = asked(&names).await;
        assert!(!usual.iter().any(asks), "{usual:?}");
        let private = asked(&[names.as_slice(), &[setting]].concat()).await;
        assert!(private.len() > 1 && private.iter().all(asks), "{private:?}");
    }
}
