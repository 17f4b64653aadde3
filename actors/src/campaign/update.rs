//! Decides how a PATCH changes a campaign's row. Free of I/O.

use super::{
    Event, State,
    decide::{Decision, Facts, complete, launch, schedule, turn},
};
use crate::campaign::{CampaignUpdate, CommandError};
use domain::{
    agent::Problem,
    ports::store::{CampaignEdit, CampaignRow, CampaignStatus, ScheduleText, StateChange},
    schedule::Schedule,
};

/// Decides on the update as a whole: all of it is accepted or refused.
pub(super) fn decide_update(
    row: &CampaignRow,
    update: &CampaignUpdate,
    facts: &Facts,
) -> Result<Decision, CommandError> {
    check(row, update, facts)?;
    let text = merged(row, update);
    let edit = CampaignEdit {
        name: update.name.clone(),
        agent: update.agent,
        schedule: (text != row.schedule).then(|| text.clone()),
        follow_up: update.follow_up.clone(),
        options: Some(update.options.or(row.options)),
        contacts: update.contacts,
    };
    let change = state_after(row, update, &text, facts)?;
    Ok(Decision::Edit(Box::new(edit), change))
}

fn check(row: &CampaignRow, update: &CampaignUpdate, facts: &Facts) -> Result<(), CommandError> {
    if update.version.is_some_and(|version| version != row.version) {
        return Err(CommandError::Stale(row.version));
    }
    let mut problems = Schedule::malformed(&ScheduleText {
        start_time: update.start_time.clone().flatten(),
        end_time: update.end_time.clone().flatten(),
        timezone: update.timezone.clone().flatten(),
    });
    if (update.scheduled, update.active) == (Some(true), Some(false)) {
        let message = "a campaign that is scheduled is active; leave out one of the two";
        problems.push(Problem::new("active", "not_allowed", message));
    }
    if !problems.is_empty() {
        return Err(CommandError::Invalid(problems));
    }
    let live = update.contacts.is_some() && facts.remaining.is_some_and(|left| left.open > 0);
    if State::of(row) == State::Running || live {
        return Err(CommandError::Running);
    }
    Ok(())
}

fn merged(row: &CampaignRow, update: &CampaignUpdate) -> ScheduleText {
    let of = |given: &Option<Option<String>>, stored: &Option<String>| given.clone().unwrap_or_else(|| stored.clone());
    ScheduleText {
        start_time: of(&update.start_time, &row.schedule.start_time),
        end_time: of(&update.end_time, &row.schedule.end_time),
        timezone: of(&update.timezone, &row.schedule.timezone),
    }
}

/// Applies the steps in order, each to the row that the previous one left.
fn state_after(
    row: &CampaignRow,
    update: &CampaignUpdate,
    text: &ScheduleText,
    facts: &Facts,
) -> Result<StateChange, CommandError> {
    let mut row = row.clone();
    let mut facts = *facts;
    let mut cancel_waiting = false;
    let mut step = |row: &mut CampaignRow, change: StateChange| {
        cancel_waiting |= change.cancel_waiting;
        take(row, change);
    };
    if update.contacts.is_some() {
        let change = replaced(&row, &facts)?;
        step(&mut row, change);
        // There are contacts to dial from now on.
        facts.remaining = None;
    }
    let rescheduled = *text != row.schedule;
    row.schedule = text.clone();
    if update.scheduled == Some(false) {
        let change = unscheduled(&row, &facts)?;
        step(&mut row, change);
    } else if rescheduled && row.scheduled && update.scheduled.is_none() {
        let change = replanned(&row, text, &facts)?;
        step(&mut row, change);
    }
    if update.scheduled == Some(true) {
        let change = schedule(&row, text, &facts)?;
        step(&mut row, change);
    } else if update.active == Some(false) {
        let change = stopped(&row)?;
        step(&mut row, change);
    } else if update.active == Some(true) && !row.active {
        let given = update.start_time.as_ref().is_some_and(Option::is_some);
        let queued = row.scheduled || (given && update.scheduled.is_none());
        let change = if queued {
            schedule(&row, text, &facts)
        } else {
            launch(&row, &facts)
        };
        step(&mut row, change?);
    }
    Ok(StateChange {
        cancel_waiting,
        ..row.unchanged()
    })
}

fn take(row: &mut CampaignRow, change: StateChange) {
    row.status = change.status;
    row.active = change.active;
    row.scheduled = change.scheduled;
    row.next_run_at = change.next_run_at;
    row.opens_from = change.opens_from;
    row.closes_at = change.closes_at;
    row.reason = change.reason;
}

/// Replaces the contact list. A campaign that waited for a follow-up of the old list has something to dial at
/// the next opening.
fn replaced(row: &CampaignRow, facts: &Facts) -> Result<StateChange, CommandError> {
    let change = turn(row, Event::ContactsReplaced)?;
    let waits = row.next_run_at.is_some();
    let next = row
        .attached_schedule()
        .map_or(facts.now, |(schedule, from)| schedule.opening(from, facts.now).opens_at);
    // A draft waits for nothing, whatever was attached before it was completed.
    let scheduled = change.scheduled && change.status != CampaignStatus::Draft;
    Ok(StateChange {
        next_run_at: waits.then_some(next),
        scheduled,
        opens_from: change.opens_from.filter(|_| scheduled),
        ..change
    })
}

/// Replaces the attached schedule. A waiting campaign waits for the new one.
fn replanned(row: &CampaignRow, text: &ScheduleText, facts: &Facts) -> Result<StateChange, CommandError> {
    let plan = complete(text)?.plan(facts.now);
    match State::of(row) {
        State::Delayed => Err(CommandError::InvalidTransition(row.status)),
        state => Ok(StateChange {
            next_run_at: state.active().then_some(plan.opens_at),
            opens_from: Some(plan.opens_at),
            ..row.unchanged()
        }),
    }
}

fn unscheduled(row: &CampaignRow, facts: &Facts) -> Result<StateChange, CommandError> {
    let change = match State::of(row) {
        State::Draft | State::Stopped | State::Completed | State::Failed => row.unchanged(),
        _ => StateChange {
            // Nothing waits in a campaign that does not start by itself.
            cancel_waiting: true,
            ..turn(
                row,
                Event::Unschedule {
                    dialed: dialed(row, facts),
                },
            )?
        },
    };
    Ok(StateChange {
        scheduled: false,
        opens_from: None,
        ..change
    })
}

/// Returns whether some contact was dialed. A claimed contact is no longer at the start of the list.
fn dialed(row: &CampaignRow, facts: &Facts) -> bool {
    row.start_index > 0 || facts.remaining.is_some_and(|left| left.later + left.open > 0)
}

fn stopped(row: &CampaignRow) -> Result<StateChange, CommandError> {
    match State::of(row) {
        State::Draft | State::Stopped | State::Completed | State::Failed => Ok(row.unchanged()),
        _ => turn(row, Event::Stop),
    }
}
