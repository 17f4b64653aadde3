//! The outbox of deliveries: webhooks and mail after calls, each a row from the transaction that ended its call, or
//! saved its analysis, until it has arrived or is given up.
//!
//! A delivery is leased for a few seconds at a time; one whose holder died comes back with its id and its place in the
//! schedule. Deliveries to one endpoint of one account are a lane, by which they are picked, so that no lane waits for
//! another.

use std::time::Duration;

use async_trait::async_trait;

use super::{CampaignContact, StoreResult};
use crate::{
    deliveries::DeliveryKind,
    id::{AccountId, AttemptId, DeliveryId},
    time::Timestamp,
};

/// For how long a delivery is leased; its holder renews the lease while it works.
pub const DELIVERY_LEASE: Duration = Duration::from_secs(8);

/// Failures in a row after which a lane that worked before counts as failing.
pub const FAILURES_FORGIVEN: i64 = 5;

/// How the last tries of a lane went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Nothing was ever tried.
    New,
    /// The last one arrived.
    Proven,
    /// It worked before, and fails now and then.
    Shaky,
    /// It fails.
    Failing,
}

impl Standing {
    /// Of a lane in which something arrived before (`proven`) and the last so many tries failed.
    pub fn of(proven: bool, failures: i64) -> Self {
        match (proven, failures) {
            (false, ..=0) => Self::New,
            (true, ..=0) => Self::Proven,
            (true, ..FAILURES_FORGIVEN) => Self::Shaky,
            (_, _) => Self::Failing,
        }
    }
}

/// Which deliveries are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sought {
    /// Those of failing lanes, too.
    pub failing_lanes: bool,
    /// Those that were never tried, too.
    pub first_tries: bool,
}

impl Sought {
    /// Whatever is due.
    pub const ALL: Self = Self {
        failing_lanes: true,
        first_tries: true,
    };

    /// How many tries must have failed.
    pub fn least_failed(self) -> i64 {
        i64::from(!self.first_tries)
    }
}

/// A lane in which something is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueLane {
    /// Its name.
    pub lane: String,
    /// How it stands.
    pub standing: Standing,
}

/// A delivery in its holder's hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its id, the same in all tries.
    pub id: DeliveryId,
    /// Whose.
    pub account: AccountId,
    /// What it tells of.
    pub attempt: AttemptId,
    /// How it goes out.
    pub kind: DeliveryKind,
    /// The address of a webhook, or a [`MailTarget`](crate::deliveries::MailTarget) as JSON.
    pub target: String,
    /// Its lane.
    pub lane: String,
    /// How many tries are known to have failed.
    pub failed: i64,
    /// Counts its leases: whoever has an older one is fenced.
    pub lease: i64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What became of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// It arrived.
    Delivered,
    /// It failed, and is tried again.
    PutOff {
        /// After this time.
        pause: Duration,
        /// Whether the whole lane waits until then, as its receiver wished.
        lane_too: bool,
        /// What went wrong.
        error: String,
    },
    /// It failed for the last time.
    GivenUp {
        /// What went wrong.
        error: String,
    },
    /// The receiver wants nothing more: all that is meant for this address is given up, and nothing new is made for it
    /// until an agent that names it is saved again.
    Gone {
        /// What it said.
        error: String,
    },
}

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryState {
    /// It waits for its next try, or is being tried.
    Pending,
    /// It arrived.
    Done,
    /// It is tried no more.
    GivenUp,
}

spelled!(DeliveryState, Pending "pending", Done "done", GivenUp "given_up");

/// A delivery as it stands, for those who look into a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    /// Its id.
    pub id: DeliveryId,
    /// How it goes out.
    pub kind: DeliveryKind,
    /// How it stands.
    pub state: DeliveryState,
    /// How many tries are known to have failed.
    pub failed: i64,
    /// When it is tried next, or its lease ends.
    pub due_at: Timestamp,
    /// What went wrong last.
    pub last_error: Option<String>,
}

/// Deliveries.
#[async_trait]
pub trait DeliveryStore: Send + Sync {
    /// The lanes in which something of what is sought is due, those first in which it waits longest, at most `limit`.
    async fn due_lanes(&self, sought: Sought, limit: i64) -> StoreResult<Vec<DueLane>>;

    /// Leases what is sought and due in these lanes, the longest waiting first, of each at most as many as stand beside it.
    async fn lease_deliveries(&self, sought: Sought, lanes: &[(String, i64)]) -> StoreResult<Vec<Delivery>>;

    /// A sign of life for what is being tried. A lease that is no longer its holder's is left alone.
    async fn renew_deliveries(&self, held: &[(DeliveryId, i64)]) -> StoreResult<()>;

    /// Keeps what became of a try. `Fenced` when the lease is no longer its holder's, or the delivery is over.
    async fn settle_delivery(&self, delivery: &Delivery, settled: Settled) -> StoreResult<()>;

    /// The deliveries of a call, in the order they were made.
    async fn deliveries_of(&self, attempt: AttemptId) -> StoreResult<Vec<DeliveryRow>>;

    /// Forgets, of the `limit` oldest deliveries, those that are over and were made before a time; returns how many.
    async fn forget_deliveries(&self, made_before: Timestamp, limit: i64) -> StoreResult<usize>;

    /// The person of a call: as the campaign or the request for the call knows them, else as the saved contact does.
    /// `NotFound` without the call.
    async fn contact_of(&self, attempt: AttemptId) -> StoreResult<CampaignContact>;
}
