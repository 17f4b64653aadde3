//! Takes deliveries out of the outbox to their receivers: webhooks and mail after calls.
//!
//! A delivery is leased, tried, and settled; what a crash cut short is tried again by whoever finds its lease run out.

mod answer;
mod courier;
mod mail;
mod payload;
mod places;
mod signature;
mod webhook;

pub use answer::{Answer, Wish};
pub use courier::{Courier, DELIVERIES, Pace};
pub use mail::{MailConfig, MailConfigError, Mailer, SmtpUrl, ready_for as mail_ready_for};
pub use signature::{InvalidSecret, sign};
pub use webhook::{WebhookLimits, WebhookSender};
