//! Reports of `ringback providers check` on providers that do not answer as they should.

use serde_json::Value;

use support::program::Program;

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
