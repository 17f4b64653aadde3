//! Settings of a campaign besides its contacts, from a form or JSON, with one set of rules.

pub mod schedule_texts;

use domain::{
    agent::{self, Agent, Direction, Problem},
    campaign_options::CampaignOptions,
    id::{AccountId, AgentId},
    ports::{
        CannotDial,
        store::{FollowUp, NewCampaign, ScheduleText, Store, StoreError},
    },
};

use crate::response::error::{ApiError, ApiResult, OrNoSuch};

/// Valid delays of a follow-up call in minutes: up to a week.
const INTERVAL_MINUTES: std::ops::RangeInclusive<i64> = 1..=10_080;

/// Requested settings, as far as the fields could be read.
#[derive(Debug, Default, Clone)]
pub struct Settings {
    /// Value of `name`.
    pub name: Option<String>,
    /// Value of `agentId`.
    pub agent: Option<AgentId>,
    /// Value of `launch`.
    pub launch: bool,
    /// Value of `scheduled`.
    pub scheduled: bool,
    /// Values of `startTime`, `endTime` and `timezone`.
    pub schedule: ScheduleText,
    /// Value of `followUpCall`.
    pub follow_up_call: bool,
    /// Value of `followUpAttempts`.
    pub follow_up_attempts: Option<i64>,
    /// Value of `followUpIntervals`.
    pub follow_up_intervals: Option<Vec<i64>>,
    /// Options.
    pub options: CampaignOptions,
}

impl Settings {
    /// Checks the rules between fields. Fields that already have a problem are skipped.
    pub fn check(&self, problems: &mut Vec<Problem>) {
        let mut found = Vec::new();
        self.check_schedule(&mut found);
        self.check_follow_up(&mut found);
        found.retain(|problem: &Problem| {
            let mut known = problems
                .iter()
                .filter_map(|known| known.path.strip_prefix(&problem.path));
            known.all(|rest| !rest.is_empty() && !rest.starts_with('['))
        });
        problems.extend(found);
    }

    fn check_schedule(&self, problems: &mut Vec<Problem>) {
        if self.launch && self.scheduled {
            let message = "`launch` and `scheduled` cannot both be true: dial now or later";
            problems.push(Problem::new("scheduled", "not_allowed", message));
        }
        problems.extend(schedule_texts::problems(&self.schedule, self.scheduled));
    }

    fn check_follow_up(&self, problems: &mut Vec<Problem>) {
        let wanted = FollowUpFields {
            call: self.follow_up_call,
            attempts: self.follow_up_attempts,
            intervals: self.follow_up_intervals.as_deref(),
        };
        wanted.check(problems);
    }

    /// Returns the campaign to create. Call it only after all checks have passed.
    pub fn into_new(self, name: String, agent: AgentId) -> NewCampaign {
        let follow_up = FollowUpFields {
            call: self.follow_up_call,
            attempts: self.follow_up_attempts,
            intervals: self.follow_up_intervals.as_deref(),
        };
        NewCampaign {
            name,
            agent,
            follow_up: follow_up.made(),
            schedule: self.schedule,
            options: self.options,
        }
    }
}

/// Values of `followUpCall`, `followUpAttempts` and `followUpIntervals`.
#[derive(Debug, Clone, Copy)]
pub struct FollowUpFields<'a> {
    /// Whether contacts are called again.
    pub call: bool,
    /// Number of follow-up calls.
    pub attempts: Option<i64>,
    /// Minutes before each follow-up call.
    pub intervals: Option<&'a [i64]>,
}

impl FollowUpFields<'_> {
    /// Checks the rules between these fields.
    pub fn check(self, problems: &mut Vec<Problem>) {
        let (attempts, intervals) = (self.attempts, self.intervals);
        if self.call {
            let given = [
                ("followUpAttempts", attempts.is_some()),
                ("followUpIntervals", intervals.is_some()),
            ];
            for (path, _) in given.iter().filter(|(_, given)| !given) {
                problems.push(Problem::new(
                    *path,
                    "required",
                    "is required when `followUpCall` is true",
                ));
            }
        }
        if let Some(attempts) = attempts.filter(|attempts| !(1..=100).contains(attempts)) {
            let message = format!("must be from 1 to 100, not {attempts}");
            problems.push(Problem::new("followUpAttempts", "out_of_range", message));
        }
        let Some(intervals) = intervals else { return };
        for minutes in intervals.iter().filter(|minutes| !INTERVAL_MINUTES.contains(minutes)) {
            let message = format!("every delay is 1 to 10080 minutes; {minutes} is not");
            problems.push(Problem::new("followUpIntervals", "out_of_range", message));
        }
        let count = i64::try_from(intervals.len()).unwrap_or(i64::MAX);
        if let Some(attempts) = attempts.filter(|attempts| *attempts != count) {
            let message = format!("has {count} delays for {attempts} attempts; each attempt needs one");
            problems.push(Problem::new("followUpIntervals", "invalid_value", message));
        }
    }

    /// Returns the value to store. Call it only after all checks have passed.
    pub fn made(self) -> FollowUp {
        if !self.call {
            return FollowUp::default();
        }
        let minutes = self.intervals.unwrap_or_default();
        FollowUp {
            enabled: true,
            attempts: self.attempts.and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
            intervals_minutes: minutes.iter().filter_map(|n| u32::try_from(*n).ok()).collect(),
        }
    }
}

/// Returns the agent that is to dial: 404 if it does not belong to this account, 400 if it only takes calls.
pub async fn dialing_agent(store: &dyn Store, account: AccountId, id: AgentId) -> ApiResult<Agent> {
    let row = store.agent(account, id).await.or_no_such("agent")?;
    let agent = agent::complete(&row.document).map_err(|error| StoreError::Damaged(format!("agent {id}: {error}")))?;
    match agent.direction {
        Direction::Inbound => Err(ApiError::field(
            "agentId",
            "not_allowed",
            CannotDial::Inbound.to_string(),
        )),
        Direction::Outbound | Direction::Both => Ok(agent),
    }
}
