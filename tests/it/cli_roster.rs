//! Log of the service at its start about its llm, stt and tts.

use support::program::Program;

#[test]
fn the_service_says_who_thinks_hears_and_speaks() {
    let program = Program::new();
    let settings = [
        ("RINGBACK_LLM", "openai/gpt-4.1-mini,groq,ollama/llama3.2,interviewer"),
        ("RINGBACK_STT", "deepgram,babble"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
        ("GROQ_API_KEY", "gsk-canary-77"),
        ("DEEPGRAM_API_KEY", "dg-canary-88"),
    ];
    let (running, _) = program.serve_with(&settings);
    running.signal("TERM");
    let ended = running.end();
    let said = ended.stderr.as_str();
    for line in [
        "Language models: openai/gpt-4.1-mini (http://127.0.0.1:9/v1; OPENAI_API_KEY is not set), then groq, then \
         ollama/llama3.2 (http://127.0.0.1:11434/v1), then interviewer",
        "Speech to text: deepgram, then babble",
        "Text to speech: babble",
    ] {
        assert!(
            said.lines().any(|said| said.ends_with(line)),
            "{line} is not in\n{said}"
        );
    }
    assert!(said.contains("ringback providers check"), "{said}");
    assert!(!format!("{ended:?}").contains("canary"), "{ended:?}");
}
