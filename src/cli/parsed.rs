//! What the process was started with.

use clap::{
    Command, CommandFactory, Parser,
    error::{ContextKind, ContextValue},
};

use super::Cli;

impl Cli {
    /// Reads it, or ends the process with what is wrong. A value that came from the environment is told by the name of its
    /// variable, not only by that of an option which nobody wrote.
    pub fn parsed() -> Self {
        Self::try_parse().unwrap_or_else(|error| {
            // Where that cannot be written, nobody reads it.
            let _ = error.print();
            let option = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::String(option)) => Some(option),
                _ => None,
            };
            let variable = option.and_then(|option| variable_of(&Self::command(), option));
            if let Some(variable) = variable.filter(|variable| std::env::var_os(variable).is_some()) {
                eprintln!("\n  the value is that of the environment variable {variable}");
            }
            std::process::exit(error.exit_code())
        })
    }
}

/// The environment variable of an option, here or in a command below.
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
    fn an_option_is_found_by_what_an_error_calls_it() {
        let error = Cli::try_parse_from(["ringback", "serve", "--shed-cpu", "85%"]).unwrap_err();
        let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
            panic!("{error:?}");
        };
        assert_eq!(
            variable_of(&Cli::command(), option).as_deref(),
            Some("RINGBACK_SHED_CPU")
        );
    }
}
