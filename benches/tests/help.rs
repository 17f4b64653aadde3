//! Test of the command line of `ringback-bench`.

use std::process::Command;

#[test]
fn help_lists_the_measurements() {
    let help = Command::new(env!("CARGO_BIN_EXE_ringback-bench"))
        .arg("--help")
        .output();
    let help = help.expect("the program starts");
    assert!(help.status.success(), "{help:?}");
    let text = String::from_utf8_lossy(&help.stdout);
    for command in [
        "api", "calls", "claims", "crashes", "turns", "dialer", "hostile", "overload",
    ] {
        let listed = text.lines().any(|line| line.trim_start().starts_with(command));
        assert!(listed, "{command}: {text}");
    }
}
