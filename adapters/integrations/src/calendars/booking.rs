//! Making one appointment: the calendar is asked once, and where its answer is lost it is looked into and not asked again,
//! so that nothing is made twice.

use std::{sync::Arc, time::Duration};

use domain::ports::store::{Appointment, BookingSettled, Store, StoreError};
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
        Err(CalendarError::Unknown(why)) => looked_for(calendar, held, why).await,
        made => made,
    }
}

/// Of what is not there yet nobody knows: the request may still be on its way, and a second one would make it twice.
async fn looked_for(calendar: &dyn Calendar, held: &Appointment, why: String) -> Result<Booked, CalendarError> {
    sleep(BEFORE_LOOKING).await;
    match calendar.find(held).await {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(CalendarError::Unknown(why)),
        Err(error) => Err(unknown(&error)),
    }
}

fn unknown(error: &CalendarError) -> CalendarError {
    CalendarError::Unknown(error.to_string())
}

/// What the calendar said is worth some patience. False where the store does not take it.
pub(super) async fn settle(store: &dyn Store, held: &Appointment, settled: BookingSettled) -> bool {
    let mut pause = Duration::from_millis(250);
    for _ in 0..SETTLES {
        match store.settle_appointment(held.id, held.lease, settled.clone()).await {
            Ok(()) => return true,
            Err(StoreError::Fenced) => {
                tracing::debug!(appointment = %held.id, "an appointment is in other hands");
                return true;
            }
            Err(error) => tracing::warn!(appointment = %held.id, %error, "what became of an appointment was not kept"),
        }
        sleep(pause).await;
        pause *= 2;
    }
    false
}
