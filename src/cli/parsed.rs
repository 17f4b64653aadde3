//! Parsing of the command line.

use clap::{
    Command, CommandFactory, Parser,
    error::{ContextKind, ContextValue},
};

use super::Cli;

impl Cli {
    /// Parses the command line, or ends the process with an error. For a value from the environment, the
    /// error names the variable too, not only the option, which nobody wrote.
    pub fn parsed() -> Self {
        Self::try_parse().unwrap_or_else(|error| named(error, |variable| std::env::var_os(variable).is_some()).exit())
    }
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
            let error = Cli::try_parse_from(["ringback", "serve", "--shed-cpu", "85%"]).unwrap_err();
            named(error, |_| is_set).to_string()
        };
        assert!(
            told(true).contains("'85%' for '--shed-cpu <CPU>' from 'RINGBACK_SHED_CPU': "),
            "{}",
            told(true)
        );
        assert!(!told(false).contains("RINGBACK"), "{}", told(false));
    }
}
