//! Addresses and keys of calendars.

use std::{convert::Infallible, path::PathBuf};

use clap::Args;
use domain::{
    agent::{Agent, CalendarProvider},
    ports::NotReady,
};

use super::google::token::CredentialsError;
use net::{http_client::parse_base_url, key::Key};

/// Address of Cal.com's API.
const CALCOM: &str = "https://api.cal.com";
/// Address of Google's API.
const GOOGLE: &str = "https://www.googleapis.com/calendar/v3";

/// Calendar accounts. Calendars without settings are not offered.
#[derive(Debug, Clone, Default, Args)]
pub struct CalendarConfig {
    /// API key of the Cal.com account whose event types are booked [default: none is booked]
    #[arg(long, env = "CALCOM_API_KEY", hide_env_values = true, value_parser = key)]
    pub calcom_api_key: Option<Key>,

    /// Address of Cal.com's API, for self-hosted servers [default: https://api.cal.com]
    #[arg(long, env = "CALCOM_URL", value_parser = parse_base_url)]
    pub calcom_url: Option<String>,

    /// JSON key file of the Google service account that the calendars are shared with [default: none is used]
    #[arg(long, env = "GOOGLE_CALENDAR_CREDENTIALS")]
    pub google_calendar_credentials: Option<PathBuf>,

    /// Google Workspace user in whose name appointments are made, with domain-wide delegation; required for
    /// inviting people [default: the service account itself]
    #[arg(long, env = "GOOGLE_CALENDAR_SUBJECT")]
    pub google_calendar_subject: Option<String>,

    /// Address of Google's Calendar API [default: https://www.googleapis.com/calendar/v3]
    #[arg(long, env = "GOOGLE_CALENDAR_URL", value_parser = parse_base_url)]
    pub google_calendar_url: Option<String>,
}

/// Wrong setting of the calendars.
#[derive(Debug, thiserror::Error)]
pub enum CalendarConfigError {
    /// The HTTP client cannot be built.
    #[error("calendars: {0}")]
    Client(#[from] reqwest::Error),
    /// The address of Google's API is invalid.
    #[error("GOOGLE_CALENDAR_URL {url}: {error}")]
    GoogleUrl {
        /// Value of the setting.
        url: String,
        /// Cause.
        error: url::ParseError,
    },
    /// The key of Google's service account cannot be used.
    #[error("GOOGLE_CALENDAR_CREDENTIALS {}: {error}", .file.display())]
    GoogleCredentials {
        /// Path of the file.
        file: PathBuf,
        /// Cause.
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

/// Checks that an agent's appointments can be made. `has` tells which calendars are configured.
pub(super) fn missing(agent: &Agent, has: impl Fn(CalendarProvider) -> bool) -> Result<(), NotReady> {
    let wish = &agent.platform_settings.call_actions.schedule_on_calendar;
    if !wish.enabled {
        return Ok(());
    }
    let Some(provider) = wish.calendar() else {
        let named = wish.provider.as_deref().unwrap_or_default();
        return Err(NotReady(format!(
            "scheduleOnCalendar.provider `{named}` must be one of ics, cal.com, google"
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
