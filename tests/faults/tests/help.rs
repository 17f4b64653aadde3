//! Test of the command line of `faults`.

use std::process::Command;

#[test]
fn help_lists_the_commands() {
    let help = Command::new(env!("CARGO_BIN_EXE_faults")).arg("--help").output();
    let help = help.expect("the program starts");
    assert!(help.status.success(), "{help:?}");
    let text = String::from_utf8_lossy(&help.stdout);
    for command in ["run", "deaths", "operators", "rolling", "promotion"] {
        let listed = text.lines().any(|line| line.trim_start().starts_with(command));
        assert!(listed, "{command}: {text}");
    }
}
