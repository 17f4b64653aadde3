//! Names that this machine can check: a missing voice is refused before anything begins.

use support::program::Program;

/// Returns the path to `espeak-ng`. The rest of the caller's environment is left out.
fn path_of_programs() -> (&'static str, String) {
    ("PATH", std::env::var("PATH").unwrap_or_default())
}

/// Returns whether `espeak-ng` is installed here.
fn speaks() -> bool {
    std::process::Command::new("espeak-ng")
        .arg("--version")
        .output()
        .is_ok()
}

#[test]
fn a_voice_that_espeak_does_not_have_is_refused_before_anything_begins() {
    if !speaks() {
        return;
    }
    let program = Program::new();
    let (name, path) = path_of_programs();
    for (voice, says) in [
        ("espeak:nosuch", "`espeak:nosuch`"),
        ("espeak:en-uss", "such as `en-us`"),
        ("espeak:en-xx", "`espeak:en-xx`"),
        ("espeak:en-us+nosuch", "`espeak:en-us+nosuch`"),
        ("espeak/nosuch", "espeak:VOICE"),
    ] {
        let list = format!("babble,{voice}");
        let settings = [(name, path.as_str()), ("RINGBACK_TTS", list.as_str())];
        for command in [&["serve"][..], &["providers", "check"]] {
            let ended = program.run_with(command, &settings);
            let refusal = ended.refusal();
            assert!(refusal.contains(says) && refusal.contains("RINGBACK_TTS"), "{refusal}");
        }
        let ended = program.run_with(&["demo", "--voice", voice], &settings[..1]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let refusal = ended.refusal();
        assert!(refusal.contains(says) && refusal.contains("--voice"), "{refusal}");
    }
    for voice in ["espeak", "espeak:en-us", "espeak:EN-US", "espeak:en-us+f3", "espeak:en"] {
        let settings = [(name, path.as_str()), ("RINGBACK_TTS", voice)];
        let (running, _) = program.serve_with(&settings);
        drop(running);
    }
}

#[test]
fn a_demo_whose_voice_is_not_installed_or_not_configured_does_not_begin() {
    let program = Program::new();
    for (voice, says) in [
        ("espeak", "apt install espeak-ng"),
        ("elevenlabs:anna", "ELEVENLABS_API_KEY"),
        ("nobody", "`nobody` is unknown"),
    ] {
        let ended = program.run_with(&["demo", "--voice", voice], &[("PATH", "/nowhere")]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let refusal = ended.refusal();
        assert!(refusal.contains(says) && refusal.contains("--voice"), "{refusal}");
    }
}
