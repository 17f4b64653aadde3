//! Decides how an event or a user's command changes a campaign's row. Free of I/O.

use super::{Effect, Event, State};
use crate::campaign::{CampaignCommand, CommandError};
use domain::{
    agent::Problem,
    ports::store::{CampaignEdit, CampaignRow, CampaignStatus, Remaining, ScheduleText, StateChange},
    schedule::{Opening, Schedule},
    time::Timestamp,
};

/// An event, with further values for the row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The event.
    pub event: Event,
    /// The new `nextRunAt`, before it is moved into the window.
    pub next_run_at: Option<Timestamp>,
    /// Reason for `failed` and `delayed`.
    pub reason: Option<String>,
}

impl From<Event> for Intent {
    fn from(event: Event) -> Self {
        Self {
            event,
            next_run_at: None,
            reason: None,
        }
    }
}

/// A requested change of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// A user's command.
    Command(CampaignCommand),
    /// An event of the campaign itself.
    Own(Intent),
}

/// Facts besides the row on which a decision depends.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// The present instant.
    pub now: Timestamp,
    /// Count of the remaining work. It is read for commands that dial or replace contacts.
    pub remaining: Option<Remaining>,
}

impl Facts {
    /// Returns an error if there is nobody to dial.
    pub(super) fn something_to_dial(&self) -> Result<(), CommandError> {
        match self.remaining {
            Some(left) if left.due + left.later + left.open == 0 => Err(CommandError::NothingToDial),
            _ => Ok(()),
        }
    }
}

/// A change to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// A new state.
    Turn(StateChange),
    /// New fields and a new state.
    Edit(Box<CampaignEdit>, StateChange),
    /// Removal of the campaign.
    Remove,
}

/// Decides how a wish changes a row.
pub fn decide(row: &CampaignRow, wish: &Wish, facts: &Facts) -> Result<Decision, CommandError> {
    match wish {
        Wish::Own(intent) => own(row, intent, facts.now).map(Decision::Turn),
        Wish::Command(CampaignCommand::Launch) => launch(row, facts).map(Decision::Turn),
        Wish::Command(CampaignCommand::Pause) => turn(row, Event::Pause).map(Decision::Turn),
        // Calls that were left to end by themselves can still be hung up.
        Wish::Command(CampaignCommand::Stop { hang_up: true })
            if matches!(row.status, CampaignStatus::Stopped | CampaignStatus::Failed) =>
        {
            Ok(Decision::Turn(row.unchanged()))
        }
        Wish::Command(CampaignCommand::Stop { .. }) => turn(row, Event::Stop).map(Decision::Turn),
        Wish::Command(CampaignCommand::Schedule(text)) => {
            let edit = CampaignEdit {
                schedule: Some(text.clone()),
                ..CampaignEdit::default()
            };
            Ok(Decision::Edit(Box::new(edit), schedule(row, text, facts)?))
        }
        Wish::Command(CampaignCommand::Update(update)) => super::update::decide_update(row, update, facts),
        Wish::Command(CampaignCommand::Delete) => match row.status {
            CampaignStatus::Running | CampaignStatus::Delayed => Err(CommandError::Running),
            _ => Ok(Decision::Remove),
        },
    }
}

/// Returns the state after an event that keeps the schedule attached and waits for nothing.
pub(super) fn turn(row: &CampaignRow, event: Event) -> Result<StateChange, CommandError> {
    let (next, effects) = State::of(row)
        .apply(event)
        .map_err(|_| CommandError::InvalidTransition(row.status))?;
    Ok(StateChange {
        status: next.status(),
        active: next.active(),
        next_run_at: None,
        closes_at: None,
        reason: None,
        cancel_waiting: effects.contains(&Effect::CancelWaiting),
        ..row.unchanged()
    })
}

/// Returns the current or next window of the attached schedule. Without one, the window is always open.
fn opening(row: &CampaignRow, at: Timestamp) -> Opening {
    match row.attached_schedule() {
        Some((schedule, opens_from)) => schedule.opening(opens_from, at),
        None => Opening {
            opens_at: at,
            closes_at: None,
        },
    }
}

fn own(row: &CampaignRow, intent: &Intent, now: Timestamp) -> Result<StateChange, CommandError> {
    let opening = opening(row, now);
    let open = opening.opens_at <= now;
    let mut change = turn(row, intent.event)?;
    change.reason = intent.reason.clone();
    match intent.event {
        // The clock was set back: the time has not come after all.
        Event::TimeCame | Event::WindowOpened if !open => Ok(StateChange {
            next_run_at: Some(opening.opens_at),
            ..row.unchanged()
        }),
        // The next window follows directly.
        Event::WindowClosed if open => Ok(StateChange {
            closes_at: opening.closes_at,
            ..row.unchanged()
        }),
        Event::TimeCame | Event::WindowOpened | Event::ObstacleGone => {
            change.closes_at = opening.closes_at.filter(|_| open).or(row.closes_at);
            Ok(change)
        }
        Event::WindowClosed => {
            change.next_run_at = Some(opening.opens_at);
            Ok(change)
        }
        Event::Obstacle => {
            change.closes_at = row.closes_at;
            change.next_run_at = intent.next_run_at;
            Ok(change)
        }
        Event::OnlyLater => {
            change.next_run_at = intent.next_run_at.map(|due| self::opening(row, due).opens_at);
            Ok(change)
        }
        _ => {
            change.next_run_at = intent.next_run_at;
            Ok(change)
        }
    }
}

/// Launches the campaign now at the user's command. Inside its window the schedule stays attached, so that
/// the window closes as planned. Outside the window it is removed, since an attached schedule forbids dialing
/// then.
pub(super) fn launch(row: &CampaignRow, facts: &Facts) -> Result<StateChange, CommandError> {
    if State::of(row) == State::Completed {
        return Err(CommandError::NothingToDial);
    }
    let change = turn(row, Event::Launch)?;
    facts.something_to_dial()?;
    let opening = opening(row, facts.now);
    Ok(if opening.opens_at <= facts.now {
        StateChange {
            closes_at: opening.closes_at,
            ..change
        }
    } else {
        StateChange {
            scheduled: false,
            opens_from: None,
            ..change
        }
    })
}

/// Attaches a schedule and waits for its time.
pub(super) fn schedule(row: &CampaignRow, text: &ScheduleText, facts: &Facts) -> Result<StateChange, CommandError> {
    let schedule = complete(text)?;
    match State::of(row) {
        State::Running => return Err(CommandError::Running),
        State::Completed => return Err(CommandError::NothingToDial),
        _ => {}
    }
    let change = turn(row, Event::Schedule)?;
    facts.something_to_dial()?;
    let plan = schedule.plan(facts.now);
    Ok(StateChange {
        scheduled: true,
        next_run_at: Some(plan.opens_at),
        opens_from: Some(plan.opens_at),
        ..change
    })
}

/// Returns the schedule to attach, which must be complete.
pub(super) fn complete(text: &ScheduleText) -> Result<Schedule, CommandError> {
    match Schedule::parse(text) {
        Ok(Some(schedule)) => Ok(schedule),
        Ok(None) => Err(CommandError::Invalid(vec![
            Problem::new("startTime", "required", "a schedule needs the time at which it starts"),
            Problem::new(
                "timezone",
                "required",
                "a schedule needs an IANA time zone, such as `Europe/Berlin`",
            ),
        ])),
        Err(problems) => Err(CommandError::Invalid(problems)),
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
