//! `docs/settings.md` is generated from the command line's own definitions.

use std::{collections::BTreeSet, fmt::Write as _};

use clap::{Arg, Command, CommandFactory};
use ringback::cli::Cli;

use super::{path, read};

const INTRODUCTION: &str = "\
# Settings

Every setting is an environment variable. Most are also an option of a command, as shown.
This page is generated from the program; `ringback COMMAND --help` shows the same texts.
At start, `ringback serve` logs a warning about variables that begin with `RINGBACK_` and are no setting.

Accounts and keys have variables of their own, listed with their service:
[providers](providers.md) and [carriers](carriers.md).
";

/// Adds the settings of a command and of those below it; a setting is listed with the first command that takes it.
fn describe(command: &Command, heading: &str, seen: &mut BTreeSet<String>, page: &mut String) {
    let settings: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| {
            arg.get_env()
                .is_some_and(|env| seen.insert(env.to_string_lossy().into_owned()))
        })
        .collect();
    if !settings.is_empty() {
        let _ = write!(page, "\n## {heading}\n");
        settings.into_iter().for_each(|arg| setting(arg, page));
    }
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let name = below.get_bin_name().unwrap_or_default();
        describe(below, &format!("`{name}`"), seen, page);
    }
}

fn setting(arg: &Arg, page: &mut String) {
    let variable = arg.get_env().unwrap_or_default().to_string_lossy();
    let _ = write!(page, "\n### `{variable}`\n\n");
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let mut default = None;
    if let Some((before, rest)) = text.clone().split_once(" [default: ") {
        default = rest.strip_suffix(']').map(str::to_owned);
        text = before.to_owned();
    }
    let values: Vec<String> = arg
        .get_default_values()
        .iter()
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    if !arg.is_hide_default_value_set() && !values.is_empty() {
        default = Some(values.join(", "));
    }
    let _ = writeln!(page, "{}.", text.trim_end_matches('.'));
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() {
        let _ = write!(page, "\nValues: {}.", values.join(", "));
    }
    let _ = write!(page, "\nDefault: {}.", default.as_deref().unwrap_or("none"));
    if let Some(long) = arg.get_long() {
        let _ = write!(page, " Option: `--{long}`.");
    }
    page.push('\n');
}

#[test]
fn the_settings_page_is_that_of_the_program() {
    let mut page = INTRODUCTION.to_owned();
    let mut command = Cli::command();
    command.build();
    describe(&command, "All commands", &mut BTreeSet::new(), &mut page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path("docs/settings.md"), &page).unwrap();
    }
    let committed = read("docs/settings.md");
    assert!(
        committed == page,
        "docs/settings.md is out of date: run UPDATE_DOCS=1 cargo test --test it settings_page"
    );
}
