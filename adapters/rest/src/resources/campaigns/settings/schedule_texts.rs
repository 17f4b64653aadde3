//! `startTime`, `endTime` and `timezone`: returned as given, and checked by the campaign's own parser.

use domain::{
    agent::Problem,
    ports::store::{CampaignRow, CampaignStatus, ScheduleText},
    schedule::Schedule,
};

use crate::request::checked::Checked;

/// Returns the sound texts of a body.
pub fn given<T>(body: &Checked<T>) -> ScheduleText {
    ScheduleText {
        start_time: body.get("startTime"),
        end_time: body.get("endTime"),
        timezone: body.get("timezone"),
    }
}

/// Returns the problems of the texts. With `wanted` they must form a schedule, otherwise they are only stored.
pub fn problems(text: &ScheduleText, wanted: bool) -> Vec<Problem> {
    if !wanted {
        return Schedule::malformed(text);
    }
    match Schedule::parse(text) {
        Ok(Some(_)) => Vec::new(),
        Ok(None) => ["startTime", "timezone"]
            .map(|path| Problem::new(path, "required", "is required for a schedule"))
            .into(),
        Err(problems) => problems,
    }
}

/// Returns a warning if the row's last change attached a schedule whose start was already over. A running
/// campaign was launched and waits for no start.
pub fn start_in_past(row: &CampaignRow) -> Option<String> {
    let waits = row.scheduled && row.active && row.status != CampaignStatus::Running;
    let start = row.schedule.start_time.as_deref().filter(|_| waits)?;
    let schedule = Schedule::parse(&row.schedule).ok()??;
    schedule
        .plan(row.updated_at)
        .starts_in_past
        .then(|| format!("the start `{start}` is in the past: dialing begins at once, or when the window opens next"))
}
