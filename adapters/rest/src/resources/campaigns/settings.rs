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

use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    described::{bodies::Minutes, common::Name},
    request::checked::Checked,
    response::error::{ApiError, ApiResult, OrNoSuch},
};

/// Name, agent, time and options of a campaign to create, from JSON or a form.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CampaignSettings {
    /// Name of the campaign.
    pub name: Name,
    /// Agent that dials.
    #[schema(value_type = String, format = "uuid")]
    pub agent_id: AgentId,
    /// Whether to dial at once.
    #[serde(default)]
    #[schema(default = false)]
    pub launch: bool,
    /// Whether to dial on the schedule.
    #[serde(default)]
    #[schema(default = false)]
    pub scheduled: bool,
    /// Schedule.
    #[serde(flatten)]
    pub schedule: ScheduleText,
    /// Options.
    #[serde(flatten)]
    pub options: CampaignOptions,
}

impl CampaignSettings {
    /// Returns whether the campaign dials without a further request.
    pub fn begins(&self) -> bool {
        self.launch || self.scheduled
    }

    /// Returns the campaign to create.
    pub fn into_new(self, follow_up: FollowUp) -> NewCampaign {
        NewCampaign {
            name: self.name.0,
            agent: self.agent_id,
            follow_up,
            schedule: self.schedule,
            options: self.options,
        }
    }
}

/// Checks the rules between the fields of a campaign to create.
pub fn check<T>(body: &mut Checked<T>, follow_up: &FollowUpFields) {
    let [launch, scheduled] = ["launch", "scheduled"].map(|name| body.get(name).unwrap_or(false));
    let mut found = Vec::new();
    if launch && scheduled {
        let message = "`launch` and `scheduled` cannot both be true: dial now or later";
        found.push(Problem::new("scheduled", "not_allowed", message));
    }
    found.extend(schedule_texts::problems(&schedule_texts::given(body), scheduled));
    found.extend(follow_up.problems());
    body.conclude(found);
}

/// Follow-up calls, as a body asks for them.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FollowUpFields {
    /// Whether contacts are called again.
    #[schema(required = false, value_type = bool)]
    pub follow_up_call: Option<bool>,
    /// Number of follow-up calls.
    #[schema(required = false, value_type = i64, minimum = 1, maximum = 100)]
    pub follow_up_attempts: Option<u32>,
    /// Minutes before each follow-up call, one entry per call.
    #[schema(required = false, value_type = Vec<Minutes>)]
    pub follow_up_intervals: Option<Vec<u32>>,
}

impl FollowUpFields {
    /// Returns the sound fields of a JSON body.
    pub fn of<T>(body: &mut Checked<T>) -> Self {
        body.gather("followUpIntervals", "out_of_range");
        Self {
            follow_up_call: body.get("followUpCall"),
            follow_up_attempts: body.get("followUpAttempts"),
            follow_up_intervals: body.get("followUpIntervals"),
        }
    }

    /// Returns whether any of them is given.
    pub fn is_given(&self) -> bool {
        self.follow_up_call.is_some() || self.follow_up_attempts.is_some() || self.follow_up_intervals.is_some()
    }

    /// Returns the problems between the fields.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.follow_up_call == Some(true) {
            let given = [
                ("followUpAttempts", self.follow_up_attempts.is_some()),
                ("followUpIntervals", self.follow_up_intervals.is_some()),
            ];
            for (path, _) in given.iter().filter(|(_, given)| !given) {
                problems.push(Problem::new(
                    *path,
                    "required",
                    "is required when `followUpCall` is true",
                ));
            }
        }
        if let (Some(attempts), Some(minutes)) = (self.follow_up_attempts, &self.follow_up_intervals)
            && attempts as usize != minutes.len()
        {
            let count = minutes.len();
            let message = format!("has {count} delays for {attempts} attempts; each attempt needs one");
            problems.push(Problem::new("followUpIntervals", "invalid_value", message));
        }
        problems
    }

    /// Returns the value to store. Call it only after all checks have passed.
    pub fn made(self) -> FollowUp {
        match self.follow_up_call {
            Some(true) => FollowUp {
                enabled: true,
                attempts: self.follow_up_attempts.unwrap_or_default(),
                intervals_minutes: self.follow_up_intervals.unwrap_or_default(),
            },
            Some(false) | None => FollowUp::default(),
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
