//! Making one appointment: the calendar is asked once, and where its answer is lost it is looked into before it is asked
//! again, so that nothing is made twice.

use std::{sync::Arc, time::Duration};

use actors::ports::store::{Appointment, BookingSettled, Store, StoreError};
use tokio::time::sleep;

use super::port::{Booked, Calendar, CalendarError};

/// Between an answer that was lost and the look at what became of it.
const BEFORE_LOOKING: Duration = Duration::from_millis(500);

/// A result that the store does not take is offered again so often; then the keeper finds it.
const SETTLES: u32 = 3;

/// Makes it and keeps what the calendar said. Of an unknown fate nothing is kept: the keeper finds out.
pub(super) async fn book(
    store: Arc<dyn Store>,
    calendar: Arc<dyn Calendar>,
    held: Appointment,
) -> Result<Booked, CalendarError> {
    let made = ask(&*calendar, &held).await;
    let settled = match &made {
        Ok(booked) => BookingSettled::from(booked.clone()),
        Err(CalendarError::Unknown(why)) => {
            tracing::warn!(appointment = %held.id, why, "nobody knows whether an appointment was made; it is looked for");
            return made;
        }
        Err(why) => {
            tracing::info!(appointment = %held.id, %why, "an appointment was not made");
            BookingSettled::Failed
        }
    };
    settle(&*store, &held, settled).await;
    made
}

async fn ask(calendar: &dyn Calendar, held: &Appointment) -> Result<Booked, CalendarError> {
    if held.lease > 1
        && let Some(found) = calendar.find(held).await.map_err(|error| unknown(&error))?
    {
        return Ok(found);
    }
    match calendar.book(held).await {
        Err(CalendarError::Unknown(why)) => again(calendar, held, why).await,
        made => made,
    }
}

/// Looks, and tries once more what is not there. The first request may still be on its way: only what is certain of
/// both counts.
async fn again(calendar: &dyn Calendar, held: &Appointment, why: String) -> Result<Booked, CalendarError> {
    sleep(BEFORE_LOOKING).await;
    if let Some(found) = calendar.find(held).await.map_err(|error| unknown(&error))? {
        return Ok(found);
    }
    match calendar.book(held).await {
        Ok(made) => Ok(made),
        // Perhaps by the first request.
        Err(CalendarError::Taken) => match calendar.find(held).await {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(CalendarError::Taken),
            Err(error) => Err(unknown(&error)),
        },
        Err(_) => Err(CalendarError::Unknown(why)),
    }
}

fn unknown(error: &CalendarError) -> CalendarError {
    CalendarError::Unknown(error.to_string())
}

/// What the calendar said is worth some patience.
pub(super) async fn settle(store: &dyn Store, held: &Appointment, settled: BookingSettled) {
    let mut pause = Duration::from_millis(250);
    for _ in 0..SETTLES {
        match store.settle_appointment(held.id, held.lease, settled.clone()).await {
            Ok(()) => return,
            Err(StoreError::Fenced) => {
                tracing::debug!(appointment = %held.id, "an appointment is in other hands");
                return;
            }
            Err(error) => tracing::warn!(appointment = %held.id, %error, "what became of an appointment was not kept"),
        }
        sleep(pause).await;
        pause *= 2;
    }
}
