//! Call-back times as people say them on the phone ("in ten minutes", "tomorrow at three", "on Monday
//! morning"), and the instants they mean. Free of I/O; the present time is a parameter.
//!
//! A day without a time means 10:00; a morning 9:00, an afternoon 14:00, an evening 18:00. An hour that may
//! be before or after noon means the next one in the daytime, 8:00 to 20:59. Without a day it is today's,
//! otherwise tomorrow's.

mod reading;
mod spoken_time;

pub use self::{
    reading::{parse, parse_answer},
    spoken_time::{Day, LONGEST, Part, SpokenTime, TimeOfDay},
};

#[cfg(test)]
mod tests;
