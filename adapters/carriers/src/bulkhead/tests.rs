//! Tests that a failing carrier affects only its own calls.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use domain::id::AttemptId;
use tokio::{task::JoinSet, time::Instant};

use super::*;

/// A carrier that takes ten seconds to respond, or is unavailable.
#[derive(Default)]
struct Slow {
    unavailable: AtomicBool,
    dialed: AtomicUsize,
    hung_up: AtomicUsize,
}

#[async_trait]
impl Carrier for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    async fn dial(&self, _: &DialRequest) -> Result<CarrierCallId, DialError> {
        self.dialed.fetch_add(1, Ordering::Relaxed);
        if self.unavailable.load(Ordering::Relaxed) {
            return Err(DialError::Unreachable("refused".into()));
        }
        tokio::time::sleep(Duration::from_secs(10)).await;
        Ok(CarrierCallId("CA1".into()))
    }

    async fn hang_up(&self, _: &CarrierCallId) -> Result<(), CarrierError> {
        self.hung_up.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn find_calls(&self, _: &PhoneNumber, _: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        Ok(Vec::new())
    }
}

fn request() -> DialRequest {
    DialRequest {
        attempt: AttemptId::new(),
        from: None,
        to: "+15550100010".parse().unwrap(),
        ring_timeout: Duration::from_secs(30),
        status_token: String::new(),
        media_token: String::new(),
        detect_machine: false,
        hints: BTreeMap::new(),
        last_look: Default::default(),
    }
}

fn around(carrier: &Arc<Slow>, places: usize) -> Arc<Bulkhead> {
    let guard = Guards::default().get(Kind::Carrier, "slow");
    Arc::new(Bulkhead::new(carrier.clone(), guard, places, 2))
}

#[tokio::test(start_paused = true)]
async fn a_dial_without_a_place_was_certainly_not_sent_and_hang_ups_have_their_own() {
    let carrier = Arc::new(Slow::default());
    let bulkhead = around(&carrier, 4);
    let mut dials = JoinSet::new();
    for _ in 0..4 {
        let bulkhead = bulkhead.clone();
        dials.spawn(async move { bulkhead.dial(&request()).await });
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    let asked = Instant::now();
    assert_eq!(
        bulkhead.dial(&request()).await,
        Err(DialError::Busy { retry_after: None })
    );
    assert!(asked.elapsed() < Duration::from_secs(1));
    assert_eq!(carrier.dialed.load(Ordering::Relaxed), 4);
    let call = CarrierCallId("CA1".into());
    let asked = Instant::now();
    for _ in 0..10 {
        bulkhead.hang_up(&call).await.unwrap();
    }
    assert_eq!(asked.elapsed(), Duration::ZERO);
    let to = "+15550100010".parse().unwrap();
    let listed = bulkhead.find_calls(&to, Timestamp(0)).await;
    assert!(matches!(listed, Err(CarrierError::Unavailable(_))), "{listed:?}");
    while let Some(dialed) = dials.join_next().await {
        dialed.unwrap().unwrap();
    }
    assert_eq!(bulkhead.find_calls(&to, Timestamp(0)).await, Ok(Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_carrier_that_is_unavailable_is_left_alone_and_asked_again() {
    let carrier = Arc::new(Slow::default());
    carrier.unavailable.store(true, Ordering::Relaxed);
    let bulkhead = around(&carrier, 4);
    for _ in 0..20 {
        let refused = bulkhead.dial(&request()).await;
        assert!(matches!(refused, Err(DialError::Unreachable(_))), "{refused:?}");
    }
    assert_eq!(carrier.dialed.load(Ordering::Relaxed), 5);
    bulkhead.hang_up(&CarrierCallId("CA1".into())).await.unwrap();
    assert_eq!(
        carrier.hung_up.load(Ordering::Relaxed),
        1,
        "a breaker keeps no hang-up back"
    );
    carrier.unavailable.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(6)).await;
    bulkhead.dial(&request()).await.unwrap();
    bulkhead.dial(&request()).await.unwrap();
    assert_eq!(carrier.dialed.load(Ordering::Relaxed), 7);
}
