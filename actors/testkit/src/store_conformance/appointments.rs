//! Appointments.

use std::time::Duration;

use super::{Fixture, Scene, outcome};
use domain::{
    agent::CalendarProvider,
    deliveries::DeliveryKind,
    id::{AccountId, AgentId, AppointmentId, AttemptId},
    ports::store::{
        Appointment, AppointmentDetails, AppointmentFilter, AppointmentState, BOOKING_LEASE, Begun, BookingSettled,
        ContactCalls, ConversationFilter, ConversationStatus, MOST_BOOKED, NewAppointment, SETTLING_US, SHOWN_WITHIN,
        Sought, StoreError,
    },
    time::{Clock, Timestamp},
};

const HALF_AN_HOUR: Duration = Duration::from_secs(1_800);

/// Creates a call in progress.
async fn call(scene: &Scene, contact: usize) -> AttemptId {
    let campaign = scene.running(contact..contact + 1).await;
    scene.dialing(campaign).await.attempt
}

/// Returns a request for an appointment `slot` half hours after the start of tomorrow.
fn wish(scene: &Scene, attempt: AttemptId, slot: u32) -> NewAppointment {
    // 2026-01-02T00:00:00Z.
    let starts_at = Timestamp(1_767_312_000_000_000).plus(HALF_AN_HOUR * slot);
    NewAppointment {
        account: scene.account,
        attempt,
        provider: CalendarProvider::Google,
        calendar: "primary".to_owned(),
        starts_at,
        ends_at: starts_at.plus(HALF_AN_HOUR),
        details: AppointmentDetails {
            title: "A talk".to_owned(),
            timezone: "Europe/Berlin".to_owned(),
            name: "Ada".to_owned(),
            email: Some("ada@example.com".to_owned()),
            phone: None,
            notes: None,
        },
    }
}

async fn begin(scene: &Scene, new: NewAppointment) -> Begun {
    scene.store.begin_appointment(new).await.unwrap()
}

async fn leased(scene: &Scene, new: NewAppointment) -> Appointment {
    match begin(scene, new).await {
        Begun::Ask(appointment) => appointment,
        other => panic!("not leased: {other:?}"),
    }
}

async fn settle(scene: &Scene, held: &Appointment, settled: BookingSettled) -> Result<(), StoreError> {
    scene.store.settle_appointment(held.id, held.lease, settled).await
}

fn booked(held: &Appointment) -> BookingSettled {
    BookingSettled::Booked {
        event: "event-1".to_owned(),
        starts_at: held.wish.starts_at,
        ends_at: held.wish.ends_at.plus(HALF_AN_HOUR),
        confirmed: true,
    }
}

pub async fn an_appointment_is_made_once_for_a_time_of_a_call(fixture: Fixture) {
    let scene = fixture.scene().await;
    let attempt = call(&scene, 0).await;
    let held = leased(&scene, wish(&scene, attempt, 20)).await;
    assert_eq!((held.lease, held.state), (1, AppointmentState::Pending));
    assert_eq!(begin(&scene, wish(&scene, attempt, 20)).await, Begun::UnderWay);
    let shown = async || {
        scene
            .store
            .conversation(scene.account, attempt)
            .await
            .unwrap()
            .appointment
    };
    assert_eq!(shown().await, None);
    settle(&scene, &held, booked(&held)).await.unwrap();
    let Begun::Booked(made) = begin(&scene, wish(&scene, attempt, 20)).await else {
        panic!("made twice");
    };
    assert_eq!((made.id, made.event.as_deref()), (held.id, Some("event-1")));
    assert_eq!(made.wish.ends_at, held.wish.ends_at.plus(HALF_AN_HOUR));
    assert_eq!(shown().await.as_ref(), Some(&made));
    assert_eq!(scene.store.appointment(held.id).await.as_ref(), Ok(&made));
    let listed = scene
        .store
        .conversations(scene.account, ConversationFilter::default(), 1);
    assert_eq!(listed.await.unwrap()[0].appointment, None);
    // Another time in the same call is another appointment, and the latest one is shown.
    scene.clock.advance(Duration::from_secs(1));
    let other = leased(&scene, wish(&scene, attempt, 30)).await;
    settle(&scene, &other, booked(&other)).await.unwrap();
    assert_eq!(shown().await.map(|shown| shown.id), Some(other.id));
    let all = scene.store.appointments_of(attempt).await.unwrap();
    assert_eq!(all.iter().map(|one| one.id).collect::<Vec<_>>(), [held.id, other.id]);
    let nobodys = scene.store.begin_appointment(wish(&scene, AttemptId::new(), 40)).await;
    assert_eq!(nobodys, Err(StoreError::NotFound));
}

pub async fn a_booking_whose_holder_died_comes_back_and_fences_it(fixture: Fixture) {
    let scene = fixture.scene().await;
    let attempt = call(&scene, 0).await;
    let first = leased(&scene, wish(&scene, attempt, 20)).await;
    let late = async || scene.store.lease_appointments(10).await.unwrap();
    assert_eq!(late().await, []);
    scene.clock.advance(BOOKING_LEASE);
    let again = late().await;
    assert_eq!(again.len(), 1);
    assert_eq!((again[0].id, again[0].lease), (first.id, 2));
    assert_eq!(late().await, []);
    assert_eq!(settle(&scene, &first, booked(&first)).await, Err(StoreError::Fenced));
    settle(&scene, &again[0], BookingSettled::Failed).await.unwrap();
    scene.clock.advance(BOOKING_LEASE);
    assert_eq!(late().await, [], "what is over does not come back");
    // A failed appointment may be requested again, and is looked up first.
    let third = leased(&scene, wish(&scene, attempt, 20)).await;
    assert_eq!((third.id, third.lease), (first.id, 3));
    scene.clock.advance(BOOKING_LEASE);
    let fourth = leased(&scene, wish(&scene, attempt, 20)).await;
    assert_eq!((fourth.id, fourth.lease), (first.id, 4));
    settle(&scene, &fourth, booked(&fourth)).await.unwrap();
    assert_eq!(settle(&scene, &fourth, booked(&fourth)).await, Err(StoreError::Fenced));
}

pub async fn a_time_is_one_calls_until_the_calendar_shows_it(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (one, two) = (call(&scene, 0).await, call(&scene, 1).await);
    let held = leased(&scene, wish(&scene, one, 20)).await;
    let mut overlapping = wish(&scene, two, 20);
    overlapping.starts_at = overlapping.starts_at.plus(Duration::from_secs(60));
    assert_eq!(begin(&scene, overlapping.clone()).await, Begun::Taken);
    let elsewhere = NewAppointment {
        calendar: "other".to_owned(),
        ..wish(&scene, two, 20)
    };
    leased(&scene, elsewhere).await;
    leased(&scene, wish(&scene, two, 21)).await;
    settle(&scene, &held, booked(&held)).await.unwrap();
    assert_eq!(begin(&scene, overlapping.clone()).await, Begun::Taken);
    scene.clock.advance(SHOWN_WITHIN);
    leased(&scene, overlapping).await;
}

pub async fn a_call_makes_few_appointments(fixture: Fixture) {
    let scene = fixture.scene().await;
    let attempt = call(&scene, 0).await;
    for slot in 0..MOST_BOOKED as u32 {
        let held = leased(&scene, wish(&scene, attempt, 20 + slot)).await;
        settle(&scene, &held, booked(&held)).await.unwrap();
    }
    assert_eq!(begin(&scene, wish(&scene, attempt, 40)).await, Begun::TooMany);
    assert!(matches!(
        begin(&scene, wish(&scene, attempt, 20)).await,
        Begun::Booked(_)
    ));
}

pub async fn an_invitation_is_made_with_the_mail_that_brings_it(fixture: Fixture) {
    let scene = fixture.scene().await;
    let attempt = call(&scene, 0).await;
    let invitation = |slot| NewAppointment {
        provider: CalendarProvider::Ics,
        calendar: String::new(),
        ..wish(&scene, attempt, slot)
    };
    let mut made = Vec::new();
    for slot in [20, 20, 21] {
        let Begun::Booked(appointment) = begin(&scene, invitation(slot)).await else {
            panic!("not made");
        };
        assert!(appointment.confirmed && appointment.event.is_some());
        made.push(appointment.id);
    }
    assert_eq!(made[0], made[1]);
    let rows = scene.store.deliveries_of(attempt).await.unwrap();
    assert_eq!(
        rows.iter().map(|row| row.kind).collect::<Vec<_>>(),
        [DeliveryKind::Invitation; 2]
    );
    let lane = scene.store.due_lanes(Sought::ALL, 10).await.unwrap().remove(0).lane;
    let leased = scene.store.lease_deliveries(Sought::ALL, &[(lane, 10)]).await.unwrap();
    let targets: Vec<_> = leased.into_iter().map(|delivery| delivery.target).collect();
    assert_eq!(targets, [made[0].to_string(), made[2].to_string()]);
}

pub async fn booked_appointments_are_listed_by_start_in_pages(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..2).await;
    let (one, two) = (
        scene.dialing(campaign).await.attempt,
        scene.dialing(campaign).await.attempt,
    );
    let elsewhere = call(&scene, 2).await;
    let book = async |attempt, slot| {
        let held = leased(&scene, wish(&scene, attempt, slot)).await;
        settle(&scene, &held, booked(&held)).await.unwrap();
        held.id
    };
    let ids = [
        book(elsewhere, 30).await,
        book(one, 10).await,
        book(two, 20).await,
        book(one, 40).await,
    ];
    let given_up = leased(&scene, wish(&scene, two, 15)).await;
    settle(&scene, &given_up, BookingSettled::Failed).await.unwrap();
    leased(&scene, wish(&scene, two, 16)).await;
    let start = |slot| wish(&scene, one, slot).starts_at;
    let listed = async |account, filter: AppointmentFilter, limit| {
        let rows = scene.store.appointments(account, filter, limit).await.unwrap();
        rows.iter()
            .map(|row| row.appointment.id)
            .collect::<Vec<AppointmentId>>()
    };
    let all = AppointmentFilter::default();
    let account = scene.account;
    assert_eq!(listed(account, all.clone(), 9).await, [ids[1], ids[2], ids[0], ids[3]]);
    let after = Some((start(20), ids[2]));
    let rest = AppointmentFilter { after, ..all.clone() };
    assert_eq!(listed(account, rest.clone(), 1).await, [ids[0]]);
    let from = Some(start(40));
    assert_eq!(listed(account, AppointmentFilter { from, ..rest }, 9).await, [ids[3]]);
    let span = AppointmentFilter {
        from: Some(start(20)),
        to: Some(start(40)),
        ..all.clone()
    };
    assert_eq!(listed(account, span, 9).await, [ids[2], ids[0]]);
    let of_campaign = AppointmentFilter {
        agent: Some(scene.agent),
        campaign: Some(campaign),
        ..all.clone()
    };
    assert_eq!(listed(account, of_campaign, 9).await, [ids[1], ids[2], ids[3]]);
    let of_nobody = AppointmentFilter {
        agent: Some(AgentId::new()),
        ..all.clone()
    };
    assert_eq!(listed(account, of_nobody, 9).await, []);
    assert_eq!(listed(AccountId::new(), all.clone(), 9).await, []);
    let first = scene.store.appointments(account, all, 1).await.unwrap().remove(0);
    assert_eq!(Ok(first.appointment), scene.store.appointment(ids[1]).await);
    let call = scene.store.conversation(account, one).await.unwrap();
    assert_eq!((first.agent, first.campaign), (scene.agent, Some(campaign)));
    assert_eq!(
        (first.agent_name, first.contact_number),
        (call.agent_name, call.contact_number)
    );
    assert_eq!(first.contact_name, scene.store.contact_of(one).await.unwrap().name);
    assert!(first.contact_name.is_some());
}

pub async fn an_erased_person_has_no_appointments(fixture: Fixture) {
    let scene = fixture.scene().await;
    let contact = scene.saved(0).await.id;
    let campaign = scene.running(0..1).await;
    let claim = scene.dialing(campaign).await;
    let held = leased(&scene, wish(&scene, claim.attempt, 20)).await;
    settle(&scene, &held, booked(&held)).await.unwrap();
    let ended = outcome(ConversationStatus::Completed);
    scene.store.finish(claim, ended, None).await.unwrap();
    scene.clock.advance(Duration::from_micros(SETTLING_US as u64));
    let erased = scene.store.erase_contact(scene.account, contact).await.unwrap();
    assert!(matches!(erased, ContactCalls::Over(_)), "{:?}", scene.clock.now());
    assert_eq!(scene.store.appointments_of(claim.attempt).await, Ok(Vec::new()));
    assert_eq!(scene.store.appointment(held.id).await, Err(StoreError::NotFound));
}
