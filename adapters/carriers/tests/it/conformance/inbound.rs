//! Checks of inbound calls: answered, refused, and announced again.

use domain::ports::store::StoreError;
use serde_json::Value;

use crate::site::{Announced, COOPERATIVE, Carrier, INTERRUPTS, OURS, SILENT, Setup, Site};

pub async fn a_phone_that_calls_is_talked_with(of: Carrier) {
    check_talk(Site::answering(of, Setup::default()).await).await;
}

pub async fn check_talk(site: Site) {
    site.stub.call_in(site.base(), COOPERATIVE).await;
    let id = site.came_in().await;
    let talked = site.world.until_over(&id, 180).await;
    site.world.pass(25).await;
    site.check_caller_words(&talked);
    let told = ["direction", "contactNumber", "callerNumber", "carrier"].map(|field| &talked[field]);
    assert_eq!(told, ["inbound", COOPERATIVE, OURS, site.carrier.name()]);
    site.ends_tidy(0).await;
}

impl Site {
    /// Checks the words as for a call that we placed, except for the name in the greeting.
    fn check_caller_words(&self, conversation: &Value) {
        use support::words::{lines, texts};
        assert_eq!(conversation["status"], "completed", "{conversation:#}");
        let phone = self.phones().call(COOPERATIVE);
        assert_eq!(lines(conversation, "User"), texts(&phone.said()));
        assert_eq!(lines(conversation, "Agent"), texts(&phone.heard()));
        assert!(
            lines(conversation, "Agent")[0].contains("this is Ava"),
            "{conversation:#}"
        );
    }
}

pub async fn a_caller_who_leaves_ends_the_call(of: Carrier) {
    check_leaves(Site::answering(of, Setup::default()).await).await;
}

pub async fn check_leaves(site: Site) {
    let call = site.stub.call_in(site.base(), SILENT).await;
    let id = site.came_in().await;
    site.world.pass(5).await;
    assert_eq!(site.world.read(&id).await["status"], "in_progress");
    site.stub.leave(&call).await;
    site.world.pass(3).await;
    let conversation = site.world.read(&id).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    assert_eq!(conversation["errorMessage"], Value::Null);
    site.ends_tidy(0).await;
}

fn taken(announced: &Announced) -> &str {
    match announced {
        Announced::Taken(conversation) => conversation,
        other => panic!("{other:?}"),
    }
}

pub async fn a_call_announced_twice_is_one_call_and_one_for_nobody_is_refused(of: Carrier) {
    let site = Site::answering(of, Setup::default()).await;
    let announce = async |call: &str, from: &str, to: &str| site.stub.announce(site.base(), call, (from, to)).await;
    let first = announce("in-1", INTERRUPTS, OURS).await;
    assert_eq!(announce("in-1", INTERRUPTS, OURS).await, first);
    let withheld = announce("in-2", "anonymous", OURS).await;
    assert_ne!(taken(&withheld), taken(&first));
    assert_eq!(site.world.read(taken(&withheld)).await.get("contactNumber"), None);
    for (n, to) in ["+15559990002", "sip:desk@pbx.example", "desk"].into_iter().enumerate() {
        assert_eq!(
            announce(&format!("other-{n}"), COOPERATIVE, to).await,
            Announced::Rejected,
            "{to}"
        );
    }
}

pub async fn a_call_for_which_no_line_is_free_is_busy(of: Carrier) {
    let site = Site::answering(of, Setup::one_line()).await;
    taken(&site.stub.announce(site.base(), "in-1", (COOPERATIVE, OURS)).await);
    let second = site.stub.announce(site.base(), "in-2", (INTERRUPTS, OURS)).await;
    assert_eq!(second, Announced::Busy);
}

pub async fn without_a_database_the_carrier_is_told_to_try_again(of: Carrier) {
    let site = Site::answering(of, Setup::default()).await;
    site.world.store_fails(Some(StoreError::Unavailable("gone".into())));
    let announce = async || site.stub.announce(site.base(), "in-1", (COOPERATIVE, OURS)).await;
    assert_eq!(announce().await, Announced::Status(503));
    site.world.store_fails(None);
    taken(&announce().await);
}
