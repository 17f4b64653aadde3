//! Environment variables with the prefix of the service's settings that are none of them.

use std::collections::BTreeSet;

use clap::{Command, CommandFactory};
use domain::suggestion::suggestion;

use super::Cli;

const PREFIX: &str = "RINGBACK_";

/// Beginnings of variables with other readers: Kubernetes sets some in each container beside a service named
/// `ringback`, and `deploy/compose.yaml` reads the domain.
const OF_OTHERS: [&str; 3] = ["RINGBACK_DOMAIN", "RINGBACK_PORT", "RINGBACK_SERVICE_"];

/// Logs one warning that names the variables of the environment that look like settings and are none, each with
/// the setting that was probably meant.
pub fn warn_of_unknown_settings() {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unknown = unknown(names);
    if !unknown.is_empty() {
        tracing::warn!(variables = unknown.join(", "), "unknown environment variables ignored");
    }
}

fn unknown(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    collect(&Cli::command(), &mut known);
    // Without the prefix, which would make any two names similar.
    let candidates: Vec<&str> = known.iter().filter_map(|name| name.strip_prefix(PREFIX)).collect();
    let mut unknown: Vec<String> = names
        .filter(|name| !known.contains(name) && !OF_OTHERS.iter().any(|prefix| name.starts_with(prefix)))
        .filter_map(|name| {
            let meant = suggestion(name.strip_prefix(PREFIX)?, &candidates);
            Some(format!("`{name}`{}", meant.replacen('`', "`RINGBACK_", 1)))
        })
        .collect();
    unknown.sort_unstable();
    unknown
}

/// Collects the variables of a command and of those below it.
fn collect(command: &Command, known: &mut BTreeSet<String>) {
    let own = command.get_arguments().filter_map(|argument| argument.get_env());
    known.extend(own.map(|name| name.to_string_lossy().into_owned()));
    command.get_subcommands().for_each(|below| collect(below, known));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_variable_is_told_with_the_setting_that_was_meant() {
        let told = |names: &[&str]| unknown(names.iter().map(|name| (*name).to_owned()));
        assert_eq!(
            told(&[
                "RINGBACK_PUBLIC_ULR",
                "RINGBACK_TTS",
                "PATH",
                "RINGBACK_CARIER",
                "RINGBACK_XYZ"
            ]),
            [
                "`RINGBACK_CARIER`; did you mean `RINGBACK_CARRIER`?",
                "`RINGBACK_PUBLIC_ULR`; did you mean `RINGBACK_PUBLIC_URL`?",
                "`RINGBACK_XYZ`",
            ]
        );
        assert_eq!(told(&["RINGBACK_SERVICE_HOST", "RINGBACK_PORT_80_TCP"]), [""; 0]);
    }
}
