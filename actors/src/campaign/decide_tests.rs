//! Tests of the decisions of a campaign.

use std::time::Duration;

use super::*;
use crate::campaign::CampaignUpdate;
use domain::{
    campaign_options::CampaignOptions,
    id::{AccountId, AgentId, CampaignId},
    ports::store::FollowUp,
};

const NOW: Timestamp = Timestamp(1_780_300_800_000_000); // 2026-06-01T08:00:00Z

fn text(start: &str, end: Option<&str>) -> ScheduleText {
    ScheduleText {
        start_time: Some(start.to_owned()),
        end_time: end.map(str::to_owned),
        timezone: Some("UTC".to_owned()),
    }
}

fn row(status: CampaignStatus) -> CampaignRow {
    CampaignRow {
        id: CampaignId::new(),
        account: AccountId::new(),
        name: "spring".into(),
        agent: AgentId::new(),
        status,
        version: 3,
        active: matches!(
            status,
            CampaignStatus::Waiting | CampaignStatus::Running | CampaignStatus::Delayed
        ),
        scheduled: false,
        schedule: ScheduleText::default(),
        next_run_at: None,
        opens_from: None,
        closes_at: None,
        follow_up: FollowUp::default(),
        options: CampaignOptions::default(),
        contact_count: 10,
        start_index: 0,
        reason: None,
        created_at: NOW,
        updated_at: NOW,
    }
}

/// Returns a campaign with the window 09:00 to 17:00 attached since the day before.
fn scheduled(status: CampaignStatus) -> CampaignRow {
    CampaignRow {
        scheduled: true,
        schedule: text("09:00", Some("17:00")),
        opens_from: Some(hours(-23)),
        ..row(status)
    }
}

fn hours(hours: i64) -> Timestamp {
    Timestamp(NOW.0 + hours * 3_600_000_000)
}

fn at(now: Timestamp) -> Facts {
    Facts {
        now,
        remaining: Some(Remaining {
            due: 10,
            ..Remaining::default()
        }),
    }
}

fn changed(row: &CampaignRow, wish: &Wish, facts: &Facts) -> Result<StateChange, CommandError> {
    decide(row, wish, facts).map(|decision| match decision {
        Decision::Turn(change) | Decision::Edit(_, change) => change,
        Decision::Remove => row.unchanged(),
    })
}

fn patch(row: &CampaignRow, update: CampaignUpdate, facts: &Facts) -> Result<StateChange, CommandError> {
    changed(row, &Wish::Command(CampaignCommand::Update(Box::new(update))), facts)
}

fn own(event: Event) -> Wish {
    Wish::Own(event.into())
}

#[test]
fn a_schedule_is_attached_with_its_first_opening() {
    let command = Wish::Command(CampaignCommand::Schedule(text("09:00", Some("17:00"))));
    for status in [
        CampaignStatus::Draft,
        CampaignStatus::Waiting,
        CampaignStatus::Paused,
        CampaignStatus::Stopped,
        CampaignStatus::Failed,
    ] {
        let change = changed(&row(status), &command, &at(NOW)).unwrap();
        assert_eq!((change.status, change.active), (CampaignStatus::Waiting, true));
        assert_eq!((change.scheduled, change.next_run_at), (true, Some(hours(1))));
        assert_eq!(change.opens_from, Some(hours(1)));
    }
    let refused = |status| changed(&row(status), &command, &at(NOW)).unwrap_err();
    assert_eq!(refused(CampaignStatus::Running), CommandError::Running);
    assert_eq!(refused(CampaignStatus::Completed), CommandError::NothingToDial);
    let delayed = CommandError::InvalidTransition(CampaignStatus::Delayed);
    assert_eq!(refused(CampaignStatus::Delayed), delayed);
    let nobody = Facts {
        now: NOW,
        remaining: Some(Remaining::default()),
    };
    let refused = changed(&row(CampaignStatus::Stopped), &command, &nobody);
    assert_eq!(refused, Err(CommandError::NothingToDial));
    let empty = Wish::Command(CampaignCommand::Schedule(ScheduleText::default()));
    let refused = changed(&row(CampaignStatus::Draft), &empty, &at(NOW));
    assert!(matches!(refused, Err(CommandError::Invalid(problems)) if problems.len() == 2));
}

#[test]
fn calls_left_to_end_by_themselves_may_still_be_hung_up() {
    let stop = |hang_up| Wish::Command(CampaignCommand::Stop { hang_up });
    for status in [CampaignStatus::Stopped, CampaignStatus::Failed] {
        let row = row(status);
        assert_eq!(changed(&row, &stop(true), &at(NOW)), Ok(row.unchanged()));
    }
    let row = row(CampaignStatus::Stopped);
    let refused = CommandError::InvalidTransition(CampaignStatus::Stopped);
    assert_eq!(changed(&row, &stop(false), &at(NOW)), Err(refused));
}

#[test]
fn a_campaign_runs_to_the_end_of_its_window_and_goes_on_at_the_next() {
    let waiting = scheduled(CampaignStatus::Waiting);
    let running = changed(&waiting, &own(Event::TimeCame), &at(hours(1))).unwrap();
    assert_eq!(running.status, CampaignStatus::Running);
    assert_eq!((running.next_run_at, running.closes_at), (None, Some(hours(9))));
    let paused = changed(
        &scheduled(CampaignStatus::Running),
        &own(Event::WindowClosed),
        &at(hours(9)),
    )
    .unwrap();
    assert_eq!((paused.status, paused.active), (CampaignStatus::Paused, true));
    assert_eq!((paused.next_run_at, paused.closes_at), (Some(hours(25)), None));
    let resumes = CampaignRow {
        active: true,
        ..scheduled(CampaignStatus::Paused)
    };
    let running = changed(&resumes, &own(Event::WindowOpened), &at(hours(25))).unwrap();
    assert_eq!(
        (running.status, running.closes_at),
        (CampaignStatus::Running, Some(hours(33)))
    );
}

#[test]
fn a_time_that_is_not_here_after_all_is_waited_for_again() {
    let waiting = scheduled(CampaignStatus::Waiting);
    let change = changed(&waiting, &own(Event::TimeCame), &at(NOW)).unwrap();
    assert_eq!(
        (change.status, change.next_run_at),
        (CampaignStatus::Waiting, Some(hours(1)))
    );
    let running = scheduled(CampaignStatus::Running);
    let change = changed(&running, &own(Event::WindowClosed), &at(hours(2))).unwrap();
    assert_eq!(
        (change.status, change.closes_at),
        (CampaignStatus::Running, Some(hours(9)))
    );
}

#[test]
fn what_lies_ahead_is_moved_into_the_window() {
    let later = Wish::Own(Intent {
        next_run_at: Some(hours(10)),
        ..Event::OnlyLater.into()
    });
    let change = changed(&scheduled(CampaignStatus::Running), &later, &at(hours(2))).unwrap();
    assert_eq!(
        (change.status, change.next_run_at),
        (CampaignStatus::Waiting, Some(hours(25)))
    );
    let change = changed(&row(CampaignStatus::Running), &later, &at(hours(2))).unwrap();
    assert_eq!(change.next_run_at, Some(hours(10)));
}

#[test]
fn a_launch_keeps_an_open_window_and_takes_a_closed_one_off() {
    let launch = Wish::Command(CampaignCommand::Launch);
    let paused = scheduled(CampaignStatus::Paused);
    let change = changed(&paused, &launch, &at(hours(2))).unwrap();
    assert_eq!((change.scheduled, change.closes_at), (true, Some(hours(9))));
    let change = changed(&paused, &launch, &at(NOW)).unwrap();
    assert_eq!((change.status, change.scheduled), (CampaignStatus::Running, false));
    assert_eq!((change.opens_from, change.closes_at), (None, None));
}

#[test]
fn a_running_campaign_is_neither_edited_nor_removed() {
    let name = CampaignUpdate {
        name: Some("autumn".into()),
        ..CampaignUpdate::default()
    };
    let refused = patch(&row(CampaignStatus::Running), name.clone(), &at(NOW));
    assert_eq!(refused, Err(CommandError::Running));
    for status in CampaignStatus::ALL {
        let removed = decide(&row(status), &Wish::Command(CampaignCommand::Delete), &at(NOW));
        match status {
            CampaignStatus::Running | CampaignStatus::Delayed => assert_eq!(removed, Err(CommandError::Running)),
            _ => assert_eq!(removed, Ok(Decision::Remove)),
        }
        if status != CampaignStatus::Running {
            let row = row(status);
            assert_eq!(patch(&row, name.clone(), &at(NOW)), Ok(row.unchanged()), "{status:?}");
        }
    }
}

#[test]
fn contacts_are_not_replaced_under_live_calls() {
    let update = CampaignUpdate {
        contacts: Some(CampaignId::new()),
        ..CampaignUpdate::default()
    };
    let live = Facts {
        now: NOW,
        remaining: Some(Remaining {
            open: 1,
            ..Remaining::default()
        }),
    };
    let paused = row(CampaignStatus::Paused);
    assert_eq!(patch(&paused, update.clone(), &live), Err(CommandError::Running));
    assert_eq!(patch(&paused, update.clone(), &at(NOW)), Ok(paused.unchanged()));
    let completed = CampaignRow {
        start_index: 10,
        ..scheduled(CampaignStatus::Completed)
    };
    let change = patch(&completed, update.clone(), &at(NOW)).unwrap();
    assert_eq!((change.status, change.scheduled), (CampaignStatus::Draft, false));
    // With new contacts a completed campaign can be launched, although nobody of the old list was left.
    let launched = CampaignUpdate {
        active: Some(true),
        ..update.clone()
    };
    let nobody = Facts {
        now: NOW,
        remaining: Some(Remaining::default()),
    };
    let change = patch(&completed, launched, &nobody).unwrap();
    assert_eq!((change.status, change.active), (CampaignStatus::Running, true));
    // A campaign that waited for a follow-up continues at its next opening.
    let waiting = CampaignRow {
        next_run_at: Some(hours(200)),
        ..scheduled(CampaignStatus::Waiting)
    };
    let change = patch(&waiting, update, &at(NOW)).unwrap();
    assert_eq!(
        (change.status, change.next_run_at),
        (CampaignStatus::Waiting, Some(hours(1)))
    );
}

#[test]
fn a_new_schedule_replaces_what_waits() {
    let waiting = CampaignRow {
        next_run_at: Some(hours(1)),
        opens_from: Some(hours(1)),
        ..scheduled(CampaignStatus::Waiting)
    };
    let later = CampaignUpdate {
        start_time: Some(Some("11:00".into())),
        ..CampaignUpdate::default()
    };
    let change = patch(&waiting, later.clone(), &at(NOW)).unwrap();
    assert_eq!(
        (change.next_run_at, change.opens_from),
        (Some(hours(3)), Some(hours(3)))
    );
    // A campaign paused by the user waits for nothing.
    let change = patch(&scheduled(CampaignStatus::Paused), later.clone(), &at(NOW)).unwrap();
    assert_eq!((change.next_run_at, change.opens_from), (None, Some(hours(3))));
    // In a draft the texts are kept and have no effect yet.
    let draft = row(CampaignStatus::Draft);
    assert_eq!(patch(&draft, later, &at(NOW)), Ok(draft.unchanged()));
    // An attached schedule must stay complete.
    let cleared = CampaignUpdate {
        start_time: Some(None),
        ..CampaignUpdate::default()
    };
    let refused = patch(&waiting, cleared.clone(), &at(NOW));
    assert!(matches!(refused, Err(CommandError::Invalid(problems)) if problems[0].path == "startTime"));
    let off = CampaignUpdate {
        scheduled: Some(false),
        ..cleared
    };
    let change = patch(&waiting, off, &at(NOW)).unwrap();
    assert_eq!((change.status, change.scheduled), (CampaignStatus::Draft, false));
    let wrong = CampaignUpdate {
        timezone: Some(Some("Mars/Base".into())),
        ..CampaignUpdate::default()
    };
    let refused = patch(&row(CampaignStatus::Draft), wrong, &at(NOW));
    assert!(matches!(refused, Err(CommandError::Invalid(problems)) if problems[0].path == "timezone"));
}

#[test]
fn taking_the_schedule_off_leads_to_draft_or_stopped() {
    let off = CampaignUpdate {
        scheduled: Some(false),
        ..CampaignUpdate::default()
    };
    for status in [CampaignStatus::Waiting, CampaignStatus::Paused] {
        for (start_index, expected) in [(0, CampaignStatus::Draft), (4, CampaignStatus::Stopped)] {
            let row = CampaignRow {
                start_index,
                ..scheduled(status)
            };
            let change = patch(&row, off.clone(), &at(NOW)).unwrap();
            assert_eq!(
                (change.status, change.active, change.scheduled),
                (expected, false, false)
            );
            assert_eq!((change.next_run_at, change.opens_from), (None, None));
            assert!(change.cancel_waiting);
        }
    }
    for status in [CampaignStatus::Stopped, CampaignStatus::Completed] {
        let change = patch(&scheduled(status), off.clone(), &at(NOW)).unwrap();
        assert_eq!((change.status, change.scheduled), (status, false));
    }
    let refused = patch(&scheduled(CampaignStatus::Delayed), off, &at(NOW));
    assert_eq!(refused, Err(CommandError::InvalidTransition(CampaignStatus::Delayed)));
}

#[test]
fn active_queues_or_launches_or_stops() {
    let active = |active| CampaignUpdate {
        active: Some(active),
        ..CampaignUpdate::default()
    };
    let change = patch(&row(CampaignStatus::Draft), active(true), &at(NOW)).unwrap();
    assert_eq!(change.status, CampaignStatus::Running);
    let change = patch(&scheduled(CampaignStatus::Stopped), active(true), &at(NOW)).unwrap();
    assert_eq!(
        (change.status, change.next_run_at),
        (CampaignStatus::Waiting, Some(hours(1)))
    );
    let with_time = CampaignUpdate {
        start_time: Some(Some("10:00".into())),
        timezone: Some(Some("UTC".into())),
        ..active(true)
    };
    let change = patch(&row(CampaignStatus::Draft), with_time, &at(NOW)).unwrap();
    assert_eq!(
        (change.status, change.next_run_at),
        (CampaignStatus::Waiting, Some(hours(2)))
    );
    for status in [CampaignStatus::Waiting, CampaignStatus::Paused, CampaignStatus::Delayed] {
        let change = patch(&scheduled(status), active(false), &at(NOW)).unwrap();
        assert_eq!((change.status, change.cancel_waiting), (CampaignStatus::Stopped, true));
    }
    for status in [
        CampaignStatus::Draft,
        CampaignStatus::Stopped,
        CampaignStatus::Completed,
        CampaignStatus::Failed,
    ] {
        let row = row(status);
        assert_eq!(patch(&row, active(false), &at(NOW)), Ok(row.unchanged()));
    }
    let both = CampaignUpdate {
        scheduled: Some(true),
        ..active(false)
    };
    let refused = patch(&row(CampaignStatus::Draft), both, &at(NOW));
    assert!(matches!(refused, Err(CommandError::Invalid(_))));
    let both = CampaignUpdate {
        scheduled: Some(true),
        start_time: Some(Some("10:00".into())),
        timezone: Some(Some("UTC".into())),
        ..active(true)
    };
    let change = patch(&row(CampaignStatus::Draft), both, &at(NOW)).unwrap();
    assert_eq!((change.status, change.scheduled), (CampaignStatus::Waiting, true));
}

#[test]
fn a_wait_is_never_for_the_past() {
    // At any present time, the time waited for is now or in the future.
    for minutes in 0..3_000 {
        let now = NOW.plus(Duration::from_secs(minutes * 60));
        for (row, event) in [
            (scheduled(CampaignStatus::Running), Event::WindowClosed),
            (scheduled(CampaignStatus::Waiting), Event::TimeCame),
        ] {
            let change = changed(&row, &own(event), &at(now)).unwrap();
            match change.status {
                CampaignStatus::Running => assert!(change.closes_at.unwrap() > now),
                _ => assert!(change.next_run_at.unwrap() > now),
            }
        }
    }
}
