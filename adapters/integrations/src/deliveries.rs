//! Delivery of outbox entries to their receivers: webhooks and mail after calls.
//!
//! A delivery is leased, tried and settled. If a crash interrupts it, the next worker retries it after its
//! lease expires.

mod answer;
mod delivery_worker;
mod mail;
mod payload;
mod places;
mod signature;
mod webhook;

pub use answer::{Answer, Wish};
pub use delivery_worker::{DELIVERIES, DeliveryWorker, Pace};
pub use mail::{MailConfig, MailConfigError, Mailer, SmtpUrl, ready_for as mail_ready_for};
pub use signature::{InvalidSecret, sign};
pub use webhook::{WebhookLimits, WebhookSender};
