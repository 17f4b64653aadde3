//! The program `espeak-ng`: its name, what it takes as an argument, and why it does not run.

pub(super) const PROGRAM: &str = "espeak-ng";

/// Returns whether a name is safe as an argument of the program.
pub(super) fn is_sound(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+');
    !name.is_empty() && name.len() <= 32 && name.chars().all(plain) && !name.starts_with('-')
}

/// Describes for the operator why the program does not run.
pub(super) fn not_started(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            "espeak-ng is not installed: install it (apt install espeak-ng), or choose another voice".into()
        }
        _ => format!("espeak-ng does not start: {error}"),
    }
}
