//! The header line and the meaning of its columns.

use std::borrow::Cow;

use domain::{
    agent::{LANGUAGE_OVERRIDE, Problem},
    phone_number::{Country, InvalidPhoneNumber, PhoneNumber},
};

use super::rows::Record;
use crate::{
    request::{
        call_overrides::is_override,
        contact_fields::{EXTRA_FIELDS, header_refusal, plain},
        fields::NAME_CHARACTERS,
    },
    resources::results_file::{self, field_of, restored, result_columns},
};

const PHONE: [&str; 7] = [
    "phonenumber",
    "phone",
    "mobile",
    "mobilenumber",
    "number",
    "contactnumber",
    "telephone",
];
const NAME: [&str; 3] = ["name", "fullname", "contactname"];
const EMAIL: [&str; 3] = ["email", "emailaddress", "mail"];
/// Columns with a special role.
const ROLES: usize = 3;

/// Maximum headers in a message.
const LISTED: usize = 50;

/// `phoneColumn`, `nameColumn` and `emailColumn`: exact headers.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// Header of the phone numbers.
    pub phone: Option<String>,
    /// Header of the names.
    pub name: Option<String>,
    /// Header of the e-mail addresses.
    pub email: Option<String>,
}

/// Columns of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// All headers, trimmed.
    pub headers: Vec<String>,
    /// Index of the phone numbers.
    pub phone: usize,
    /// Index of the names.
    pub name: Option<usize>,
    /// Index of the e-mail addresses.
    pub email: Option<usize>,
    /// Columns that are stored, with the name of their field.
    stored: Vec<(usize, String)>,
    /// Whether the file is one of results, which is uploaded again.
    is_results: bool,
    /// Country by whose plan numbers without a plus are read.
    country: Option<Country>,
}

impl Columns {
    /// Returns the columns of a file whose numbers may lack the code of this country.
    pub fn in_country(self, country: Option<Country>) -> Self {
        Self { country, ..self }
    }

    /// Reads the number in a cell.
    pub fn number(&self, cell: &str) -> Result<PhoneNumber, InvalidPhoneNumber> {
        PhoneNumber::parse_in(cell, self.country)
    }

    /// Parses the header line.
    pub fn read(headers: Vec<String>, overrides: &Overrides) -> Result<Self, Vec<Problem>> {
        let results = result_columns(&headers);
        let is_results = results > 0;
        // Checks nothing else in this case, because comparing a million headers would take too long.
        if headers.len() > results + EXTRA_FIELDS + ROLES {
            return Err(vec![too_many(headers.len() - results - ROLES)]);
        }
        let mut problems = misnamed(&headers, results);
        // In a file of results other headers that look like a role's are fields of the contacts.
        let own = |header: &'static str| (is_results && headers.iter().any(|own| own == header)).then_some(header);
        let mut role = |names: &[&str], field: &str, given: &Option<String>, header| {
            let names = if is_results { &[] } else { names };
            let named = given.as_deref().or(own(header));
            role(&headers, names, field, named, &mut problems)
        };
        let phone = role(&PHONE, "phoneColumn", &overrides.phone, results_file::PHONE_NUMBER);
        let name = role(&NAME, "nameColumn", &overrides.name, results_file::NAME);
        let email = role(&EMAIL, "emailColumn", &overrides.email, results_file::EMAIL);
        let roles = [phone, name, email];
        let stored: Vec<(usize, String)> = headers
            .iter()
            .enumerate()
            .skip(results)
            .filter(|(index, _)| !roles.contains(&Some(*index)))
            .map(|(index, header)| (index, if is_results { field_of(header).0 } else { header.clone() }))
            .collect();
        if stored.len() > EXTRA_FIELDS {
            problems.push(too_many(stored.len()));
        }
        if phone.is_none() && problems.is_empty() {
            problems.push(no_phone_column(&headers));
        }
        match phone {
            Some(phone) if problems.is_empty() => Ok(Self {
                headers,
                phone,
                name,
                email,
                stored,
                is_results,
                country: None,
            }),
            _ => Err(problems),
        }
    }

    /// Returns the record with its cells as they were before they were written to a file of results.
    pub fn restored<'a>(&self, record: &'a Record) -> Cow<'a, Record> {
        if !self.is_results {
            return Cow::Borrowed(record);
        }
        Cow::Owned(Record {
            line: record.line,
            cells: record.cells.iter().map(|cell| restored(cell)).collect(),
        })
    }

    /// Returns the columns with overrides or the language of a call, with their headers. The values are stored under
    /// these headers.
    pub fn choices(&self) -> Vec<(usize, String)> {
        let headers = self.headers.iter().enumerate();
        let chosen = headers.filter(|(_, header)| *header == LANGUAGE_OVERRIDE || is_override(header));
        chosen.map(|(index, header)| (index, header.clone())).collect()
    }

    /// Returns the columns that are stored, with the name of their field.
    pub fn extra(&self) -> impl Iterator<Item = (usize, &str)> {
        self.stored.iter().map(|(index, field)| (*index, field.as_str()))
    }
}

fn too_many(extra: usize) -> Problem {
    let message = format!("has {extra} columns besides phone, name and e-mail; at most {EXTRA_FIELDS} are allowed");
    Problem::new("file", "too_many", message)
}

/// Returns the problems of invalid headers; the first ones, of `results`, are known to be right.
fn misnamed(headers: &[String], results: usize) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, header) in headers.iter().enumerate().skip(results) {
        let column = index + 1;
        let (field, is_free) = if results > 0 {
            field_of(header)
        } else {
            (header.clone(), false)
        };
        let complaint = if field.is_empty() {
            Some(("not_allowed", format!("column {column} has no header")))
        } else if field.chars().count() > NAME_CHARACTERS {
            Some((
                "too_long",
                format!("the header of column {column} has more than {NAME_CHARACTERS} characters"),
            ))
        } else if headers[..index].contains(header) {
            Some(("repeated", format!("the header `{header}` occurs twice")))
        } else {
            let refused = if is_free { None } else { header_refusal(&field) };
            refused.map(|why| ("not_allowed", format!("the header `{header}` {why}")))
        };
        if let Some((code, message)) = complaint.filter(|_| problems.len() < LISTED) {
            problems.push(Problem::new("file", code, message));
        }
    }
    problems
}

/// Returns the column of a role: the one named by the client, or the only one whose header is a name of the role.
fn role(
    headers: &[String],
    names: &[&str],
    field: &str,
    named: Option<&str>,
    problems: &mut Vec<Problem>,
) -> Option<usize> {
    if let Some(named) = named {
        let found = headers.iter().position(|header| header == named);
        if found.is_none() {
            let message = format!("there is no header `{named}`; the headers are {}", listed(headers));
            problems.push(Problem::new(field, "not_found", message));
        }
        return found;
    }
    let mut fitting = headers
        .iter()
        .enumerate()
        .filter(|(_, header)| names.contains(&plain(header).as_str()));
    let (index, first) = fitting.next()?;
    if let Some((_, second)) = fitting.next().filter(|(_, second)| *second != first) {
        let message = format!("both `{first}` and `{second}` match; set one as `{field}`");
        problems.push(Problem::new("file", "ambiguous_column", message));
    }
    Some(index)
}

/// Returns whether one of the headers is that of the phone numbers.
pub fn has_phone(headers: &[String], overrides: &Overrides) -> bool {
    match &overrides.phone {
        Some(named) => headers.contains(named),
        None => headers.iter().any(|header| PHONE.contains(&plain(header).as_str())),
    }
}

fn no_phone_column(headers: &[String]) -> Problem {
    let way_out = match headers {
        _ if headers.iter().any(|header| PhoneNumber::parse(header).is_ok()) => "the first line must hold column names",
        [_] => "rename it, set it as `phoneColumn`, or delete the lines above the column names",
        _ => "rename one, or set it as `phoneColumn`",
    };
    let message = format!(
        "no phone column: none of the headers {} is one of {}; {way_out}",
        listed(headers),
        PHONE.join(", ")
    );
    Problem::new("file", "missing_phone_column", message)
}

fn listed(headers: &[String]) -> String {
    let shown: Vec<String> = headers
        .iter()
        .take(LISTED)
        .map(|header| format!("`{header:.60}`"))
        .collect();
    let rest = if headers.len() > LISTED { " …" } else { "" };
    format!("{}{rest}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: &str, overrides: &Overrides) -> Result<Columns, Vec<(String, &'static str)>> {
        let headers = header.split(',').map(|cell| cell.trim().to_owned()).collect();
        Columns::read(headers, overrides).map_err(|p| p.into_iter().map(|p| (p.path, p.code)).collect())
    }

    #[test]
    fn headers_are_matched_without_regard_to_case_spaces_and_dashes() {
        for phone in ["Phone", "PHONE_NUMBER", "mobile-number", "Contact Number", "telephone"] {
            let columns = read(&format!("City,Full Name,{phone},E-Mail"), &Overrides::default()).unwrap();
            assert_eq!(
                (columns.phone, columns.name, columns.email),
                (2, Some(1), Some(3)),
                "{phone}"
            );
            assert_eq!(columns.extra().collect::<Vec<_>>(), [(0, "City")]);
        }
    }

    #[test]
    fn a_header_line_that_cannot_be_used_says_why() {
        let none = Overrides::default();
        let code = |header: &str| read(header, &none).unwrap_err()[0].1;
        assert_eq!(code("city,street"), "missing_phone_column");
        assert_eq!(code("+15551234567,Ada"), "missing_phone_column");
        for (headers, way_out) in [
            (&["+15551234567"][..], "the first line must hold column names"),
            (
                &["city"],
                "set it as `phoneColumn`, or delete the lines above the column names",
            ),
            (&["city", "street"], "rename one, or set it as `phoneColumn`"),
        ] {
            let told = no_phone_column(&headers.iter().map(ToString::to_string).collect::<Vec<_>>()).message;
            assert!(told.ends_with(way_out), "{told}");
        }
        assert_eq!(code("Name; Titel,Tel."), "missing_phone_column");
        assert_eq!(code("phone,city,city"), "repeated");
        assert_eq!(code("phone,Mobile"), "ambiguous_column");
        assert_eq!(code("phone,contactId"), "not_allowed");
        assert_eq!(code("phone,metadata"), "not_allowed");
        assert_eq!(code("phone,,city"), "not_allowed");
        let many: Vec<String> = (0..101).map(|n| format!("c{n}")).collect();
        assert_eq!(code(&format!("phone,{}", many.join(","))), "too_many");
    }

    #[test]
    fn an_override_wins_and_leaves_the_other_header_an_ordinary_column() {
        let overrides = Overrides {
            phone: Some("Mobile".into()),
            ..Overrides::default()
        };
        let columns = read("phone,Mobile,number", &overrides).unwrap();
        assert_eq!(columns.phone, 1);
        assert_eq!(columns.extra().count(), 2);
        assert_eq!(
            read("phone", &overrides).unwrap_err(),
            [("phoneColumn".to_owned(), "not_found")]
        );
    }
}
