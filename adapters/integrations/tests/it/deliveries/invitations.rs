//! Tests of invitations by mail: created with their appointment, sent at once, and readable by calendar programs.

use std::{io::BufReader, time::Duration};

use domain::{
    agent::CalendarProvider,
    deliveries::DeliveryKind,
    ports::store::{AppointmentDetails, Begun, DeliveryState, NewAppointment},
    time::Clock,
};
use serde_json::json;

use super::{
    mail::{Mail, SmtpServer, world},
    world::until,
};

/// Returns the decoded calendar part of a mail.
fn calendar_part(mail: &Mail) -> String {
    let begins = |line: &String| line.starts_with("Content-Type: text/calendar");
    let at = mail.lines.iter().position(begins).unwrap();
    assert!(mail.lines[at].contains("method=REQUEST"), "{:?}", mail.lines[at]);
    let part = mail.lines[at..].iter().take_while(|line| !line.starts_with("--"));
    let part: Vec<&String> = part.collect();
    let empty = part.iter().position(|line| line.is_empty()).unwrap();
    assert!(part[..empty].iter().all(|line| !line.contains("base64")), "{part:?}");
    let quoted = part[..empty].iter().any(|line| line.contains("quoted-printable"));
    let mut text = String::new();
    for line in &part[empty + 1..] {
        match line.strip_suffix('=').filter(|_| quoted) {
            Some(soft) => text.push_str(soft),
            None => {
                text.push_str(line);
                text.push_str("\r\n");
            }
        }
    }
    if quoted { text.replace("=3D", "=") } else { text }
}

#[tokio::test]
async fn an_invitation_goes_out_at_once_and_is_read_by_a_parser() {
    let server = SmtpServer::start(&["451 later", "250 taken"]).await;
    let mut world = world(&server, json!({})).await;
    let campaign = world.scene.running(0..1).await;
    let claim = world.scene.dialing(campaign).await;
    let starts_at = world.scene.clock.now().plus(Duration::from_secs(24 * 3_600));
    let wish = NewAppointment {
        account: world.account.id,
        attempt: claim.attempt,
        provider: CalendarProvider::Ics,
        calendar: String::new(),
        starts_at,
        ends_at: starts_at.plus(Duration::from_secs(1_800)),
        details: AppointmentDetails {
            title: "Clinic: Ada\r\nBcc: eve@example.com".into(),
            timezone: "Europe/Berlin".into(),
            name: "Ada, Countess".into(),
            email: Some("ada@example.com".into()),
            phone: None,
            notes: Some("First, a check-up; then coffee".into()),
        },
    };
    let Begun::Booked(made) = world.scene.store.begin_appointment(wish).await.unwrap() else {
        panic!("not made");
    };
    until("put off", async || world.delivery(claim.attempt).await.failed == 1).await;
    // The process that sends it may die meanwhile.
    world.kill().await;
    world.advance(5);
    until("sent", async || {
        world.delivery(claim.attempt).await.state == DeliveryState::Done
    })
    .await;
    assert_eq!(world.delivery(claim.attempt).await.kind, DeliveryKind::Invitation);
    let mail = server.mails().pop().unwrap();
    let recipients: Vec<&String> = mail.envelope.iter().filter(|line| line.starts_with("RCPT")).collect();
    assert_eq!(recipients, ["RCPT TO:<ada@example.com>"]);
    let head = mail.lines.iter().take_while(|line| !line.is_empty());
    assert!(head.clone().all(|line| !line.starts_with("Bcc")), "{:?}", mail.lines);
    let text = calendar_part(&mail);
    let calendar = ical::IcalParser::new(BufReader::new(text.as_bytes()))
        .next()
        .unwrap()
        .unwrap();
    let event = &calendar.events[0];
    let value = |name: &str| {
        let found = event.properties.iter().find(|one| one.name == name);
        found.and_then(|one| one.value.clone()).unwrap_or_default()
    };
    assert_eq!(value("UID"), format!("{}@ringback.example", made.id));
    assert_eq!(value("DTSTART"), "20260102T000000Z");
    assert_eq!(value("DTEND"), "20260102T003000Z");
    assert_eq!(value("ORGANIZER"), "mailto:calls@ringback.example");
    assert_eq!(value("ATTENDEE"), "mailto:ada@example.com");
    assert_eq!(value("DESCRIPTION"), "First\\, a check-up\\; then coffee");
    let method = calendar.properties.iter().find(|one| one.name == "METHOD").unwrap();
    assert_eq!(method.value.as_deref(), Some("REQUEST"));
}
