//! The text fields of the form, with their types.

use std::{collections::BTreeMap, ops::RangeInclusive};

use domain::{
    account_settings::AccountSettings, agent::Problem, id::AgentId, phone_number::Country, ports::store::ScheduleText,
};

use super::{check::Options, columns::Overrides, layout::Separator};
use crate::{
    request::{fields::check_name, query::plain_integer},
    resources::campaigns::{begin::Begin, options, settings::Settings},
};

/// A form being read.
struct Form<'a> {
    texts: &'a BTreeMap<&'static str, String>,
    problems: &'a mut Vec<Problem>,
}

/// Reads the settings, and how to read the file. Problems are added to the existing ones.
pub fn read(
    texts: &BTreeMap<&'static str, String>,
    account: &AccountSettings,
    problems: &mut Vec<Problem>,
) -> (Settings, Options) {
    let mut form = Form { texts, problems };
    let settings = Settings {
        name: form.name(),
        agent: form.agent(),
        launch: form.flag("launch"),
        scheduled: form.flag("scheduled"),
        schedule: ScheduleText {
            start_time: form.text("startTime"),
            end_time: form.text("endTime"),
            timezone: form.text("timezone"),
        },
        follow_up_call: form.flag("followUpCall"),
        follow_up_attempts: form.parsed("followUpAttempts", "a whole number", plain_integer),
        follow_up_intervals: form.parsed("followUpIntervals", "minutes separated by commas", |text| {
            text.split(',').map(|part| plain_integer(part.trim())).collect()
        }),
        options: options::read(|name, range| form.ranged(name, range)),
    };
    settings.check(problems);
    let options = options(texts, account, problems);
    (settings, options)
}

/// Reads the agent of a form that may have none.
pub fn agent(texts: &BTreeMap<&'static str, String>, problems: &mut Vec<Problem>) -> Option<AgentId> {
    Form { texts, problems }.parsed("agentId", "an agent's id (a UUID)", |text| text.parse().ok())
}

/// Reads how the file is to be read.
pub fn options(
    texts: &BTreeMap<&'static str, String>,
    account: &AccountSettings,
    problems: &mut Vec<Problem>,
) -> Options {
    let mut form = Form { texts, problems };
    Options {
        overrides: Overrides {
            phone: form.text("phoneColumn"),
            name: form.text("nameColumn"),
            email: form.text("emailColumn"),
        },
        separator: form
            .parsed("separator", "`,`, `;`, `|`, `tab` or `auto`", Separator::parse)
            .unwrap_or_default(),
        country: form.country().or(account.default_country),
        skips_invalid: form.flag("skipInvalidRows"),
    }
}

/// Returns how the campaign is to begin.
pub fn begin(texts: &BTreeMap<&'static str, String>) -> Begin {
    let asked = |name| texts.get(name).and_then(|text: &String| boolean(text)).unwrap_or(false);
    Begin::of(asked("launch"), asked("scheduled"))
}

impl Form<'_> {
    fn problem(&mut self, name: &str, code: &'static str, message: impl Into<String>) {
        // A field with a problem from the upload needs no second one.
        if self.problems.iter().all(|known| known.path != name) {
            self.problems.push(Problem::new(name, code, message));
        }
    }

    fn text(&self, name: &str) -> Option<String> {
        self.texts.get(name).cloned()
    }

    fn required(&mut self, name: &str) -> Option<String> {
        let text = self.text(name);
        if text.is_none() {
            self.problem(name, "required", "is required");
        }
        text
    }

    fn parsed<T>(&mut self, name: &str, expected: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let text = self.text(name)?;
        let value = read(&text);
        if value.is_none() {
            self.problem(name, "invalid_value", format!("`{text:.100}` is not {expected}"));
        }
        value
    }

    fn ranged(&mut self, name: &str, range: RangeInclusive<i64>) -> Option<i64> {
        let value = self.parsed(name, "a whole number", plain_integer)?;
        if !range.contains(&value) {
            let message = format!("must be from {} to {}, not {value}", range.start(), range.end());
            self.problem(name, "out_of_range", message);
        }
        range.contains(&value).then_some(value)
    }

    fn country(&mut self) -> Option<Country> {
        let parsed: Result<Country, _> = self.text("defaultCountry")?.parse();
        parsed
            .map_err(|error| self.problem("defaultCountry", "not_allowed", error.to_string()))
            .ok()
    }

    fn flag(&mut self, name: &str) -> bool {
        self.parsed(name, "`true` or `false`", boolean).unwrap_or(false)
    }

    fn name(&mut self) -> Option<String> {
        let text = self.required("name")?;
        check_name(&text)
            .map_err(|(code, message)| self.problem("name", code, message))
            .ok()
    }

    fn agent(&mut self) -> Option<AgentId> {
        self.required("agentId")?;
        self.parsed("agentId", "an agent's id (a UUID)", |text| text.parse().ok())
    }
}

/// Parses `true` and `false` in any case, and `1` and `0`.
fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(texts: &[(&'static str, &str)]) -> Vec<(String, &'static str)> {
        let id = AgentId::new().to_string();
        let sound = [("name", "n"), ("agentId", id.as_str())];
        let texts = sound
            .iter()
            .chain(texts)
            .map(|(name, text)| (*name, (*text).to_owned()))
            .collect();
        let mut problems = Vec::new();
        read(&texts, &AccountSettings::default(), &mut problems);
        problems.into_iter().map(|p| (p.path, p.code)).collect()
    }

    #[test]
    fn the_rules_between_fields_hold() {
        type Case<'a> = (&'a [(&'static str, &'a str)], &'a [(&'a str, &'a str)]);
        let cases: &[Case<'_>] = &[
            (&[], &[]),
            (&[("launch", "TRUE"), ("scheduled", "0")], &[]),
            (&[("launch", "yes")], &[("launch", "invalid_value")]),
            (
                &[
                    ("scheduled", "1"),
                    ("launch", "1"),
                    ("startTime", "09:00"),
                    ("timezone", "UTC"),
                ],
                &[("scheduled", "not_allowed")],
            ),
            (
                &[("scheduled", "true")],
                &[("startTime", "required"), ("timezone", "required")],
            ),
            (
                &[("scheduled", "true"), ("startTime", "09:00"), ("timezone", "Mars/X")],
                &[("timezone", "invalid")],
            ),
            // Stored for later if it is valid.
            (&[("startTime", "09:00")], &[]),
            (&[("endTime", "9")], &[("endTime", "invalid")]),
            (
                &[("followUpCall", "true")],
                &[("followUpAttempts", "required"), ("followUpIntervals", "required")],
            ),
            (
                &[
                    ("followUpCall", "true"),
                    ("followUpAttempts", "2"),
                    ("followUpIntervals", "5, 60"),
                ],
                &[],
            ),
            (
                &[("followUpAttempts", "2"), ("followUpIntervals", "5")],
                &[("followUpIntervals", "invalid_value")],
            ),
            (
                &[("followUpAttempts", "1"), ("followUpIntervals", "0")],
                &[("followUpIntervals", "out_of_range")],
            ),
            (
                &[("followUpIntervals", "5,")],
                &[("followUpIntervals", "invalid_value")],
            ),
            (&[("followUpAttempts", "-1")], &[("followUpAttempts", "invalid_value")]),
            (&[("followUpAttempts", "0")], &[("followUpAttempts", "out_of_range")]),
            (&[("maxConcurrentCalls", "3"), ("ringTimeoutSeconds", "120")], &[]),
            (
                &[("maxConcurrentCalls", "0"), ("ringTimeoutSeconds", "121")],
                &[
                    ("maxConcurrentCalls", "out_of_range"),
                    ("ringTimeoutSeconds", "out_of_range"),
                ],
            ),
            (
                &[("ringTimeoutSeconds", "9.5")],
                &[("ringTimeoutSeconds", "invalid_value")],
            ),
        ];
        for (texts, expected) in cases {
            let expected: Vec<_> = expected
                .iter()
                .map(|(path, code)| ((*path).to_owned(), *code))
                .collect();
            assert_eq!(problems(texts), expected, "{texts:?}");
        }
    }

    #[test]
    fn all_that_is_missing_is_named_at_once() {
        let mut problems = Vec::new();
        read(&BTreeMap::new(), &AccountSettings::default(), &mut problems);
        let paths: Vec<_> = problems.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(paths, ["name", "agentId"]);
    }
}
