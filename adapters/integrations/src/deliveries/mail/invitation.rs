//! Mail with an invitation: the appointment as text and as a calendar file.

use chrono_tz::Tz;
use domain::{
    ports::store::{Appointment, Delivery},
    time::Timestamp,
};
use lettre::{
    Message,
    message::{Mailbox, MultiPart, SinglePart, header},
};

use super::message::ComposeError;
use crate::calendars::{Organiser, ics};

/// Composes the message. Its id is the same in all tries, so that mailboxes can recognise a repetition.
///
/// # Errors
///
/// Returns an error if there is no valid recipient.
pub(super) fn compose(from: &Mailbox, delivery: &Delivery, appointment: &Appointment) -> Result<Message, ComposeError> {
    let details = &appointment.wish.details;
    let email = details.email.as_deref().unwrap_or_default();
    let address = email.parse().map_err(|error| ComposeError::of_address(email, error))?;
    let organiser = Organiser {
        name: from.name.as_deref(),
        email: from.email.as_ref(),
    };
    let calendar = ics(appointment, email, organiser, delivery.created_at);
    let kind = header::ContentType::parse("text/calendar; charset=utf-8; method=REQUEST")?;
    let parts = MultiPart::alternative()
        .singlepart(SinglePart::plain(words(appointment)))
        .singlepart(SinglePart::builder().header(kind).body(calendar));
    let name = one_line(&details.name);
    let message = Message::builder()
        .from(from.clone())
        .to(Mailbox::new(Some(name).filter(|name| !name.is_empty()), address))
        .message_id(Some(format!("<{}@{}>", delivery.id, from.email.domain())))
        .date_now()
        .subject(one_line(&format!(
            "Invitation: {}, {}",
            details.title,
            when(appointment)
        )))
        .multipart(parts)?;
    Ok(message)
}

/// Formats day and time in the agreed time zone.
fn when(appointment: &Appointment) -> String {
    let wish = &appointment.wish;
    let zone: Tz = wish.details.timezone.parse().unwrap_or(Tz::UTC);
    let local = |at: Timestamp| at.to_utc().with_timezone(&zone);
    format!(
        "{} to {} ({zone})",
        local(wish.starts_at).format("%A, %B %-d, %Y, %H:%M"),
        local(wish.ends_at).format("%H:%M")
    )
}

fn words(appointment: &Appointment) -> String {
    let details = &appointment.wish.details;
    let notes = details.notes.as_deref().map(|notes| format!("\r\n{notes}\r\n"));
    format!(
        "{}\r\n{}\r\n{}",
        details.title,
        when(appointment),
        notes.unwrap_or_default()
    )
}

fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
