//! `startTime`, `endTime` and `timezone`: read back as they were given, checked by the campaign's own reading.

use domain::{
    agent::Problem,
    ports::store::{CampaignRow, CampaignStatus, ScheduleText},
    schedule::Schedule,
};

/// What is wrong with the texts; `wanted` when they must make a schedule, else they are only kept.
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

/// What there is to say about a schedule that was attached by the row's last change, if its start was over by then.
/// A campaign that runs already was launched: it waits for no start.
pub fn start_in_past(row: &CampaignRow) -> Option<String> {
    let waits = row.scheduled && row.active && row.status != CampaignStatus::Running;
    let start = row.schedule.start_time.as_deref().filter(|_| waits)?;
    let schedule = Schedule::parse(&row.schedule).ok()??;
    schedule
        .plan(row.updated_at)
        .starts_in_past
        .then(|| format!("the start `{start}` is in the past: dialing begins at once, or when the window opens next"))
}
