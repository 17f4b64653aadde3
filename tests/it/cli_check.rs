//! Reports of `ringback providers check` on providers that do not answer as they should.

use serde_json::Value;
use sim::stub_providers::{self, Fault, StubHandle, StubSettings, elevenlabs, openai};
use support::program::Program;
use tokio::task::block_in_place;

/// Returns the check's report on one provider.
fn problem(program: &Program, settings: &[(&str, &str)]) -> String {
    let ended = program.run_with(&["providers", "check", "--json"], settings);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let findings = found.as_array().unwrap();
    let bad = findings.iter().find(|finding| finding["works"] == false).unwrap();
    bad["problem"].as_str().unwrap().to_owned()
}

#[test]
fn a_check_names_the_address_it_asked_and_what_may_be_wrong_with_it() {
    let program = Program::new();
    let stubs = program.start(&["providers", "stub", "--listen", "127.0.0.1:0"], &[]);
    let stub = stubs.line_after("Stub providers listen on ");
    let (with_v1, twice) = (format!("{stub}/v1"), format!("{stub}/v1/v1"));
    for (settings, says) in [
        (
            [("RINGBACK_LLM", "openai"), ("OPENAI_BASE_URL", stub.as_str())],
            format!("OPENAI_BASE_URL ({stub}) may lack `/v1` at its end"),
        ),
        (
            [("RINGBACK_LLM", "openai"), ("OPENAI_BASE_URL", twice.as_str())],
            format!("OPENAI_BASE_URL ({twice}) may have one `/v1` too many"),
        ),
        (
            [("RINGBACK_LLM", "anthropic"), ("ANTHROPIC_BASE_URL", with_v1.as_str())],
            format!("ANTHROPIC_BASE_URL ({with_v1}) may have one `/v1` too many"),
        ),
        (
            [("RINGBACK_TTS", "openai:alloy"), ("OPENAI_BASE_URL", stub.as_str())],
            format!("OPENAI_BASE_URL ({stub}) may lack `/v1` at its end"),
        ),
        (
            [("RINGBACK_STT", "deepgram"), ("DEEPGRAM_BASE_URL", with_v1.as_str())],
            format!("DEEPGRAM_BASE_URL ({with_v1}) may have one `/v1` too many"),
        ),
        (
            [("RINGBACK_LLM", "openai"), ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")],
            "asked at http://127.0.0.1:9/v1 (OPENAI_BASE_URL)".to_owned(),
        ),
        (
            [
                ("RINGBACK_TTS", "elevenlabs"),
                ("ELEVENLABS_BASE_URL", "http://127.0.0.1:9"),
            ],
            "asked at http://127.0.0.1:9 (ELEVENLABS_BASE_URL)".to_owned(),
        ),
        (
            [
                ("RINGBACK_STT", "whispercpp"),
                ("WHISPERCPP_BASE_URL", "http://127.0.0.1:9/v1"),
            ],
            "asked at http://127.0.0.1:9/v1 (WHISPERCPP_BASE_URL)".to_owned(),
        ),
    ] {
        let problem = problem(&program, &settings);
        assert!(problem.contains(&says), "{says} is not in: {problem}");
    }
}

/// Runs the check with all providers at the stub. Returns the findings: each provider with its problem, if it has one.
fn check(stub: &StubHandle, settings: &[(&str, &str)]) -> Vec<(String, Option<String>)> {
    let (address, with_v1) = (stub.url(), format!("{}/v1", stub.url()));
    let at_stub = [
        ("OPENAI_BASE_URL", with_v1.as_str()),
        ("GEMINI_BASE_URL", &with_v1),
        ("OLLAMA_BASE_URL", &with_v1),
        ("AZURE_OPENAI_ENDPOINT", &address),
        ("ELEVENLABS_BASE_URL", &address),
        ("DEEPGRAM_BASE_URL", &address),
    ];
    let keys = [
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "AZURE_OPENAI_API_KEY",
        "ELEVENLABS_API_KEY",
        "DEEPGRAM_API_KEY",
    ];
    let settings: Vec<_> = keys
        .map(|key| (key, "key"))
        .iter()
        .chain(&at_stub)
        .chain(settings)
        .copied()
        .collect();
    let ended = block_in_place(|| Program::new().run_with(&["providers", "check", "--json"], &settings));
    let found: Vec<Value> = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    let all_work = found.iter().all(|finding| finding["works"] == true);
    assert_eq!(ended.code, Some(i32::from(!all_work)), "{ended:?}");
    let finding = |finding: &Value| {
        let problem = finding["problem"].as_str().map(str::to_owned);
        (finding["provider"].as_str().unwrap().to_owned(), problem)
    };
    found.iter().map(finding).collect()
}

/// Checks that all providers but `babble` and `interviewer` work, or that each of them has this problem.
fn assert_all(findings: &[(String, Option<String>)], problem: Option<&str>) {
    let hosted = findings
        .iter()
        .filter(|(name, _)| !["babble", "interviewer"].contains(&name.as_str()));
    for (name, found) in hosted {
        match (found, problem) {
            (None, None) => {}
            (Some(found), Some(says)) => assert!(found.contains(says), "{name}: {says} is not in: {found}"),
            _ => panic!("{name}: {found:?}"),
        }
    }
}

/// Returns the reasoning efforts of the requests so far.
fn efforts(stub: &StubHandle) -> Vec<Option<String>> {
    let bodies = stub.received(openai::CHAT_COMPLETIONS).into_iter();
    let bodies = bodies.filter_map(|body| serde_json::from_str::<Value>(&body).ok());
    bodies
        .map(|body| body["reasoning_effort"].as_str().map(str::to_owned))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_checked_with_the_effort_that_it_asks_for_and_what_it_refuses_is_shown() {
    // Each model is checked twice: what the first request taught is kept for the second.
    for (model, sent) in [
        ("openai/gpt-4.1", [None, None].as_slice()),
        ("openai/gpt-5.1", &[Some("none"), Some("none")]),
        ("openai/gpt-5.6", &[Some("none"), Some("none")]),
        ("openai/gpt-5.2", &[Some("none"), None, None]),
        ("openai/gpt-5.4", &[Some("none"), None, None]),
        ("azure/front-desk", &[None, Some("none"), Some("none")]),
        ("gemini/gemini-2.5-flash", &[Some("none"), Some("none")]),
        ("gemini/gemini-3-flash", &[Some("minimal"), Some("none"), Some("none")]),
        ("gemini/gemini-2.5-flash-thinking", &[Some("none"), None, None]),
    ] {
        let stub = stub_providers::start(StubSettings::on_loopback()).await.unwrap();
        let findings = check(&stub, &[("RINGBACK_LLM", &format!("{model},{model}"))]);
        assert_all(&findings, None);
        let sent: Vec<Option<String>> = sent.iter().map(|effort| effort.map(str::to_owned)).collect();
        assert_eq!(efforts(&stub), sent, "{model}");
    }
    let stub = stub_providers::start(StubSettings::on_loopback()).await.unwrap();
    for (model, says) in [
        (
            "openai/gpt-5.9",
            "Function tools with reasoning_effort are not supported for gpt-5.9",
        ),
        ("ollama/quirk-toolless", "does not support tools"),
    ] {
        assert_all(&check(&stub, &[("RINGBACK_LLM", model)]), Some(says));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voice_is_checked_whatever_the_spelling_of_its_messages_and_each_context_is_closed_once() {
    for voice in ["usual", "snake", "doubled"] {
        let stub = stub_providers::start(StubSettings::on_loopback()).await.unwrap();
        let settings = [("RINGBACK_TTS", &*format!("elevenlabs:{voice}"))];
        assert_all(&check(&stub, &settings), None);
        let sent = stub.received(elevenlabs::SPEECH);
        let count = |key: &str| sent.iter().filter(|message| message.contains(key)).count();
        assert_eq!(
            (count("voice_settings"), count("close_context")),
            (1, 1),
            "{voice}: {sent:?}"
        );
        stub.set_faults(elevenlabs::SPEECH, vec![Fault::Refuse(403)]);
        assert_all(
            &check(&stub, &settings),
            Some("elevenlabs answers 403: The model does not allow this"),
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_must_not_improve_models_works_only_with_the_opt_out() {
    let stub = stub_providers::start(StubSettings::on_loopback()).await.unwrap();
    let project = [
        ("DEEPGRAM_API_KEY", "private-project"),
        ("RINGBACK_TTS", "deepgram"),
        ("RINGBACK_STT", "deepgram,deepgram/flux-general-en"),
    ];
    let opts_out = [project.as_slice(), &[("RINGBACK_DEEPGRAM_MIP_OPT_OUT", "true")]].concat();
    assert_all(&check(&stub, &opts_out), None);
    assert_all(
        &check(&stub, &project),
        Some("Project does not allow requests without mip_opt_out"),
    );
}
