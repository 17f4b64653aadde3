//! Parsing of the command line.

use std::ffi::OsString;

use clap::{
    Command, CommandFactory, FromArgMatches,
    error::{ContextKind, ContextValue},
};

use super::Cli;

impl Cli {
    /// Parses the command line, or ends the process with an error. For a value from the environment, the
    /// error names the variable too, not only the option, which nobody wrote.
    pub fn parsed() -> Self {
        Self::parse_all(std::env::args_os())
            .unwrap_or_else(|error| named(error, |variable| std::env::var_os(variable).is_some()).exit())
    }

    fn parse_all<T: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = T>) -> Result<Self, clap::Error> {
        let mut command = with_negative_numbers(Self::command());
        let mut matches = command.try_get_matches_from_mut(arguments)?;
        Self::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
    }
}

/// Lets every option take a negative number as its value. Otherwise `--max-calls -1` is refused as an unknown
/// option `-1`, and not with the range of the number.
fn with_negative_numbers(command: Command) -> Command {
    command
        .mut_args(
            |arg| match arg.get_long().is_some() && arg.get_action().takes_values() {
                true => arg.allow_negative_numbers(true),
                false => arg,
            },
        )
        .mut_subcommands(with_negative_numbers)
}

fn named(mut error: clap::Error, is_set: impl Fn(&str) -> bool) -> clap::Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg).cloned() else {
        return error;
    };
    let mut command = Cli::command();
    // Only built commands name their options as errors do.
    command.build();
    if let Some(variable) = variable_of(&command, &option).filter(|variable| is_set(variable)) {
        // The text is put between quotation marks.
        let both = format!("{option}' from '{variable}");
        error.insert(ContextKind::InvalidArg, ContextValue::String(both));
    }
    error
}

/// Returns the environment variable of an option of this command or of a subcommand.
fn variable_of(command: &Command, option: &str) -> Option<String> {
    let own = command.get_arguments().find(|argument| argument.to_string() == option);
    let variable = own
        .and_then(|argument| argument.get_env())
        .and_then(|name| name.to_str());
    variable
        .map(str::to_owned)
        .or_else(|| command.get_subcommands().find_map(|below| variable_of(below, option)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_value_of_the_environment_is_told_with_its_variable() {
        let told = |is_set: bool| {
            let error = Cli::parse_all(["ringback", "serve", "--shed-cpu", "85%"]).unwrap_err();
            named(error, |_| is_set).to_string()
        };
        assert!(
            told(true).contains("'85%' for '--shed-cpu <CPU>' from 'RINGBACK_SHED_CPU': "),
            "{}",
            told(true)
        );
        assert!(!told(false).contains("RINGBACK"), "{}", told(false));
    }

    #[test]
    fn a_negative_number_is_refused_as_the_value_that_it_is() {
        for (option, way_out) in [
            ("--max-calls", "write a whole number from 1 to 100000"),
            ("--calls-per-second", "write a number from 0 to 10000"),
        ] {
            let error = Cli::parse_all(["ringback", "serve", option, "-1"])
                .unwrap_err()
                .to_string();
            assert!(error.contains("'-1'") && error.contains(way_out), "{error}");
        }
    }
}
