//! Where calendars are, and the keys they take.

use std::{convert::Infallible, path::PathBuf};

use clap::Args;
use domain::{
    agent::{Agent, CalendarProvider},
    ports::NotReady,
};

use super::google::CredentialsError;
use net::{http_client::parse_base_url, key::Key};

/// Cal.com's own API.
const CALCOM: &str = "https://api.cal.com";
/// Google's.
const GOOGLE: &str = "https://www.googleapis.com/calendar/v3";

/// Accounts at calendars; none where nothing is set.
#[derive(Debug, Clone, Default, Args)]
pub struct CalendarConfig {
    /// Key of the Cal.com account whose event types are booked [default: none is booked]
    #[arg(long, env = "CALCOM_API_KEY", hide_env_values = true, value_parser = key)]
    pub calcom_api_key: Option<Key>,

    /// Address of Cal.com's API, for one's own server [default: https://api.cal.com]
    #[arg(long, env = "CALCOM_URL", value_parser = parse_base_url)]
    pub calcom_url: Option<String>,

    /// JSON file with the key of the Google service account that the calendars are shared with [default: none is used]
    #[arg(long, env = "GOOGLE_CALENDAR_CREDENTIALS")]
    pub google_calendar_credentials: Option<PathBuf>,

    /// User of one's Google Workspace in whose name appointments are made, with domain-wide delegation; only so can
    /// people be invited [default: the service account itself]
    #[arg(long, env = "GOOGLE_CALENDAR_SUBJECT")]
    pub google_calendar_subject: Option<String>,

    /// Address of Google's Calendar API [default: https://www.googleapis.com/calendar/v3]
    #[arg(long, env = "GOOGLE_CALENDAR_URL", value_parser = parse_base_url)]
    pub google_calendar_url: Option<String>,
}

/// Which setting of the calendars is wrong.
#[derive(Debug, thiserror::Error)]
pub enum CalendarConfigError {
    /// No HTTP client can be made.
    #[error("calendars: {0}")]
    Client(#[from] reqwest::Error),
    /// The address of Google's API is invalid.
    #[error("GOOGLE_CALENDAR_URL {url}: {error}")]
    GoogleUrl {
        /// What was given.
        url: String,
        /// What is wrong with it.
        error: url::ParseError,
    },
    /// The key of Google's service account cannot be used.
    #[error("GOOGLE_CALENDAR_CREDENTIALS {}: {error}", .file.display())]
    GoogleCredentials {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        error: CredentialsError,
    },
}

fn key(text: &str) -> Result<Key, Infallible> {
    Ok(Key::new(text))
}

impl CalendarConfig {
    pub(super) fn calcom_url(&self) -> &str {
        self.calcom_url.as_deref().unwrap_or(CALCOM)
    }

    pub(super) fn google_url(&self) -> &str {
        self.google_calendar_url.as_deref().unwrap_or(GOOGLE)
    }
}

/// What is missing for an agent's appointments; `has` tells which calendars there are.
pub(super) fn missing(agent: &Agent, has: impl Fn(CalendarProvider) -> bool) -> Result<(), NotReady> {
    let wish = &agent.platform_settings.call_actions.schedule_on_calendar;
    if !wish.enabled {
        return Ok(());
    }
    let Some(provider) = wish.calendar() else {
        let named = wish.provider.as_deref().unwrap_or_default();
        return Err(NotReady(format!(
            "scheduleOnCalendar.provider `{named}` is none of ics, cal.com, google"
        )));
    };
    let needs = match provider {
        _ if has(provider) => return Ok(()),
        CalendarProvider::Ics => "invitations go by mail: set RINGBACK_SMTP_URL and RINGBACK_MAIL_FROM",
        CalendarProvider::CalCom => "cal.com needs CALCOM_API_KEY",
        CalendarProvider::Google => "google needs GOOGLE_CALENDAR_CREDENTIALS",
    };
    Err(NotReady(format!("scheduleOnCalendar is enabled, and {needs}")))
}
