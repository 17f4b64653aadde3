//! Forms with a file of contacts, as their schemas describe them.

use std::collections::BTreeMap;

use domain::{account_settings::AccountSettings, id::AgentId, phone_number::Country};
use serde::{Deserialize, de::DeserializeOwned};
use utoipa::ToSchema;

use super::{check::Options, columns::Overrides, layout::Separator};
use crate::{
    request::{
        checked::{Checked, Reason, boolean},
        query::plain_integer,
    },
    resources::campaigns::{
        begin::Begin,
        settings::{self, CampaignSettings, FollowUpFields},
    },
};

/// Valid delays of a follow-up call in minutes: up to a week.
const DELAYS: std::ops::RangeInclusive<i64> = 1..=10_080;

/// A campaign to create from a file of at most 1,000,000 rows.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewCsvCampaign {
    #[serde(flatten)]
    pub settings: CampaignSettings,
    /// Whether contacts are called again.
    #[schema(required = false, value_type = bool)]
    follow_up_call: Option<bool>,
    /// Number of follow-up calls.
    #[schema(required = false, value_type = i64, minimum = 1, maximum = 100)]
    follow_up_attempts: Option<u32>,
    /// Minutes before each follow-up call, separated by commas, one per call.
    #[schema(required = false, value_type = String, example = "30,120")]
    follow_up_intervals: Option<String>,
    #[serde(flatten)]
    #[expect(dead_code, reason = "`options` reads it before the form is complete")]
    file: MoreCsvContacts,
}

/// A file of at most 100,000 contacts to add to a campaign.
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MoreCsvContacts {
    /// CSV file in UTF-8, UTF-16 with a byte order mark, or windows-1252, with a header line, at most 64 MiB.
    #[schema(format = Binary, content_media_type = "text/csv")]
    #[expect(dead_code, reason = "is kept on disk")]
    file: String,
    /// Header of the phone column.
    #[schema(required = false, value_type = String, example = "phone")]
    phone_column: Option<String>,
    /// Header of the name column.
    #[schema(required = false, value_type = String, example = "name")]
    name_column: Option<String>,
    /// Header of the e-mail column.
    #[schema(required = false, value_type = String, example = "email")]
    email_column: Option<String>,
    /// Country by whose plan numbers without `+` are read (ISO 3166, two letters); the account's `defaultCountry`
    /// if it is left out.
    #[schema(required = false, value_type = String, example = "DE")]
    default_country: Option<String>,
    /// Separator of the cells: `,` (the default), `;`, `|`, `tab`, or `auto`, which finds it by the content.
    /// The line `sep=` in the file wins.
    #[schema(required = false, value_type = String, example = "auto")]
    separator: Option<String>,
    /// Whether invalid rows are left out; without it they refuse the file.
    #[serde(default)]
    #[schema(default = false)]
    skip_invalid_rows: bool,
}

/// A file of at most 1,000,000 contacts to check.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "no rule needs the whole form")]
pub struct CsvToCheck {
    /// Agent whose rules for overrides and languages are checked.
    #[schema(required = false, value_type = String, format = "uuid")]
    agent_id: Option<AgentId>,
    #[serde(flatten)]
    file: MoreCsvContacts,
}

/// Checks the rules between the fields of a campaign, and returns how to read its file.
pub fn check(form: &mut Checked<NewCsvCampaign>, account: &AccountSettings) -> Options {
    form.parse("followUpIntervals", |text| minutes(text).map(|_| text.to_owned()));
    let follow_up = follow_up(
        form.get("followUpCall"),
        form.get("followUpAttempts"),
        form.get("followUpIntervals"),
    );
    settings::check(form, &follow_up);
    options(form, account)
}

fn follow_up(call: Option<bool>, attempts: Option<u32>, intervals: Option<String>) -> FollowUpFields {
    FollowUpFields {
        follow_up_call: call,
        follow_up_attempts: attempts,
        follow_up_intervals: intervals.and_then(|text| minutes(&text).ok()),
    }
}

fn minutes(text: &str) -> Result<Vec<u32>, Reason> {
    let minutes: Option<Vec<i64>> = text.split(',').map(|part| plain_integer(part.trim())).collect();
    let Some(minutes) = minutes else {
        let message = format!("`{text:.100}` is not minutes separated by commas");
        return Err(("invalid_value", message));
    };
    if let Some(wrong) = minutes.iter().find(|minutes| !DELAYS.contains(minutes)) {
        return Err((
            "out_of_range",
            format!("every delay is 1 to 10080 minutes; {wrong} is not"),
        ));
    }
    Ok(minutes
        .iter()
        .filter_map(|minutes| u32::try_from(*minutes).ok())
        .collect())
}

impl NewCsvCampaign {
    /// Returns its settings and its follow-up calls.
    pub fn parts(self) -> (CampaignSettings, FollowUpFields) {
        let follow_up = follow_up(self.follow_up_call, self.follow_up_attempts, self.follow_up_intervals);
        (self.settings, follow_up)
    }
}

/// Reads how the file is to be read.
pub fn options<T: ToSchema + DeserializeOwned + 'static>(form: &mut Checked<T>, account: &AccountSettings) -> Options {
    form.parse("separator", |text| match Separator::parse(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err((
            "invalid_value",
            format!("`{text:.100}` is not `,`, `;`, `|`, `tab` or `auto`"),
        )),
    });
    form.parse("defaultCountry", |text| match text.parse::<Country>() {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(("not_allowed", error.to_string())),
    });
    let file: MoreCsvContacts = form.part();
    Options {
        overrides: Overrides {
            phone: file.phone_column,
            name: file.name_column,
            email: file.email_column,
        },
        separator: file
            .separator
            .and_then(|text| Separator::parse(&text))
            .unwrap_or_default(),
        country: file
            .default_country
            .and_then(|text| text.parse().ok())
            .or(account.default_country),
        skips_invalid: file.skip_invalid_rows,
    }
}

/// Returns how the campaign is to begin.
pub fn begin(texts: &BTreeMap<String, String>) -> Begin {
    let asked = |name| texts.get(name).and_then(|text: &String| boolean(text)).unwrap_or(false);
    Begin::of(asked("launch"), asked("scheduled"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(texts: &[(&str, &str)]) -> Vec<(String, &'static str)> {
        let id = AgentId::new().to_string();
        let sound = [("name", "n"), ("agentId", id.as_str()), ("file", "")];
        let texts = sound
            .iter()
            .chain(texts)
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect();
        let mut form = Checked::form(&texts, Vec::new());
        check(&mut form, &AccountSettings::default());
        form.problems().into_iter().map(|p| (p.path, p.code)).collect()
    }

    #[test]
    fn the_rules_between_fields_hold() {
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a [(&'a str, &'a str)]);
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
        let mut form = Checked::form(&BTreeMap::new(), Vec::new());
        check(&mut form, &AccountSettings::default());
        let problems = form.problems();
        let paths: Vec<_> = problems.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(paths, ["name", "agentId", "file"]);
    }
}
