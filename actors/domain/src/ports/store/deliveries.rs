//! The outbox of deliveries: webhooks and e-mails after calls, and events to webhook endpoints. Each is a row,
//! created in the transaction that ended its call, saved its analysis or published its event, until it has
//! arrived or is given up.
//!
//! A delivery is leased for a few seconds at a time. If its holder dies, it becomes available again with its
//! id and its place in the schedule. Deliveries to one endpoint of one account form a lane. They are selected
//! by lane, so that no lane waits for another.

use std::time::Duration;

use async_trait::async_trait;

use super::{
    directory::CampaignContact,
    error::{StoreError, StoreResult},
};
use crate::{
    deliveries::DeliveryKind,
    id::{AccountId, AttemptId, DeliveryId},
    time::Timestamp,
};

/// Duration of a delivery's lease; its holder renews it while working.
pub const DELIVERY_LEASE: Duration = Duration::from_secs(8);

/// Consecutive failures after which a lane that worked before counts as failing.
pub const FAILURES_FORGIVEN: i64 = 5;

/// Results of the last tries of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Nothing was tried yet.
    New,
    /// The last delivery arrived.
    Proven,
    /// Something arrived before, and fewer than [`FAILURES_FORGIVEN`] tries have failed since.
    Shaky,
    /// No try has succeeded yet, or at least [`FAILURES_FORGIVEN`] tries have failed since something did.
    Failing,
}

impl Standing {
    /// Returns the standing of a lane from whether something arrived before (`proven`) and the number of
    /// failures since.
    pub fn of(proven: bool, failures: i64) -> Self {
        match (proven, failures) {
            (false, ..=0) => Self::New,
            (true, ..=0) => Self::Proven,
            (true, ..FAILURES_FORGIVEN) => Self::Shaky,
            (_, _) => Self::Failing,
        }
    }
}

/// Filter for due deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sought {
    /// Whether to include those of failing lanes.
    pub failing_lanes: bool,
    /// Whether to include those that were never tried.
    pub first_tries: bool,
}

impl Sought {
    /// Everything that is due.
    pub const ALL: Self = Self {
        failing_lanes: true,
        first_tries: true,
    };

    /// Returns the number of tries that must have failed.
    pub fn least_failed(self) -> i64 {
        i64::from(!self.first_tries)
    }
}

/// A lane with a due delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueLane {
    /// Name of the lane.
    pub lane: String,
    /// Results of its last tries.
    pub standing: Standing,
}

/// A leased delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its id, the same in all tries.
    pub id: DeliveryId,
    /// Owner of the call.
    pub account: AccountId,
    /// Call that it reports; `None` for an event to a webhook endpoint.
    pub attempt: Option<AttemptId>,
    /// Kind of the delivery.
    pub kind: DeliveryKind,
    /// URL of a webhook, a [`MailTarget`](crate::deliveries::MailTarget) as JSON, or id of a webhook endpoint.
    pub target: String,
    /// Name of its lane.
    pub lane: String,
    /// Number of tries known to have failed.
    pub failed: i64,
    /// Number of leases; a holder of an older lease is fenced.
    pub lease: i64,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Beginning of the receiver's answer to the try, to settle it with.
    pub reply: Option<String>,
}

impl Delivery {
    /// Returns the call that it reports, or `NotFound`.
    pub fn call(&self) -> StoreResult<AttemptId> {
        self.attempt.ok_or(StoreError::NotFound)
    }
}

/// Result of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// The receiver accepted it.
    Delivered,
    /// It failed and is tried again.
    PutOff {
        /// Pause before the next try.
        pause: Duration,
        /// Whether the whole lane waits until then, as its receiver asked.
        lane_too: bool,
        /// Error of this try.
        error: String,
    },
    /// It failed for the last time.
    GivenUp {
        /// Error of the last try.
        error: String,
    },
    /// The receiver wants nothing more. All deliveries to this URL are given up, and no new ones are created
    /// until an agent that names it is saved again. A webhook endpoint that still has this URL is disabled; with
    /// another URL by now, it gets the delivery there.
    Gone {
        /// Answer of the receiver.
        error: String,
        /// URL that answered.
        url: String,
    },
}

/// State of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It waits for its next try, or is being tried.
    Pending,
    /// The receiver accepted it.
    Done,
    /// It is not tried any more.
    GivenUp,
}

spelled!(DeliveryState, Pending "pending", Done "done", GivenUp "given_up");

/// State of a delivery, for readers of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    /// Id of the delivery.
    pub id: DeliveryId,
    /// Kind of the delivery.
    pub kind: DeliveryKind,
    /// State of the delivery.
    pub state: DeliveryState,
    /// Number of tries known to have failed.
    pub failed: i64,
    /// Time of the next try, or end of the lease.
    pub due_at: Timestamp,
    /// Error of the last try that failed.
    pub last_error: Option<String>,
}

/// Deliveries.
#[async_trait]
pub trait DeliveryStore: Send + Sync {
    /// Returns the lanes with a due delivery that matches the filter, those that wait longest first, at most `limit`.
    async fn due_lanes(&self, sought: Sought, limit: i64) -> StoreResult<Vec<DueLane>>;

    /// Leases matching due deliveries in these lanes, the longest waiting first, at most the given number per lane.
    async fn lease_deliveries(&self, sought: Sought, lanes: &[(String, i64)]) -> StoreResult<Vec<Delivery>>;

    /// Renews leases of deliveries that are being tried. A lease that no longer belongs to its holder is ignored.
    async fn renew_deliveries(&self, held: &[(DeliveryId, i64)]) -> StoreResult<()>;

    /// Stores the result of a try. Returns `Fenced` if the lease no longer belongs to its holder or the
    /// delivery is over.
    async fn settle_delivery(&self, delivery: &Delivery, settled: Settled) -> StoreResult<()>;

    /// Returns the deliveries of a call in the order of their creation.
    async fn deliveries_of(&self, attempt: AttemptId) -> StoreResult<Vec<DeliveryRow>>;

    /// Deletes those of the `limit` oldest deliveries that are over and were created before a time. Returns
    /// their number.
    async fn forget_deliveries(&self, made_before: Timestamp, limit: i64) -> StoreResult<usize>;

    /// Returns the person of a call, as given by the campaign or the request for the call, otherwise by the
    /// saved contact. Returns `NotFound` if there is no such call.
    async fn contact_of(&self, attempt: AttemptId) -> StoreResult<CampaignContact>;
}
