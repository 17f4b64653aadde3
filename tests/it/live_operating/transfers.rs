//! Transfers and keys of an operator who has the call.

use super::*;

const DESK: &str = "+15550100002";
const BUSY: &str = "+15550100006";
/// Rings until the transfer is given up.
const NOBODY: &str = "+15550100007";

impl Live {
    async fn post(&self, command: &str, body: Value) -> Answer {
        let path = format!("/public/v1/conversations/{}/{command}", self.id);
        self.world.client.post(&path, body).await
    }

    async fn transfer(&self, to: &str, kind: &str) -> Answer {
        let body = json!({ "phoneNumber": to, "transferType": kind });
        self.post("transfer", body).await
    }
}

#[tokio::test(start_paused = true)]
async fn an_operator_presses_keys_and_keeps_the_call_until_a_transfer_succeeds() {
    let live = live().await;
    let mut operator = live.operate().await;
    operator.is_silent(2_000).await;
    let pressed_ms = live.world.played(NUMBER).length_ms();
    live.post("digits", json!({ "digits": "4w2" })).await.expect(200);
    operator.is_silent(1_000).await;
    let silence = live.world.played(NUMBER).longest_silence(pressed_ms) / MS;
    assert!(silence < 800, "the tones are played: {silence} ms");
    assert_eq!(live.told("digits"), [json!({ "by": KEY, "digits": "4w2" })]);
    let announced = json!({ "phoneNumber": DESK, "message": "I connect you." });
    let refused = live.post("transfer", announced).await.expect(409);
    assert_eq!(refused.code(), "invalid_transition");
    assert!(refused.text("/error/message").contains("`message`"), "{}", refused.body);

    live.transfer(BUSY, "conference").await.expect(200);
    let again = live.transfer(DESK, "conference").await.expect(409);
    assert!(
        again.text("/error/message").contains("`transferring`"),
        "{}",
        again.body
    );
    operator.is_silent(3_000).await;
    assert_eq!(live.told("transfer_failed").len(), 1);
    operator.says("I will try another desk.").await;
    assert!(live.told("operator_left").is_empty());

    live.transfer(DESK, "conference").await.expect(200);
    assert_eq!(operator.until_closed().await.0, 1_000);
    assert_eq!(operator.events.last(), Some(&json!({ "event": "end" })));
    let over = live.world.until_over(&live.id, 120).await;
    assert_eq!(over["callTransferred"], true, "{over:#}");
    assert_eq!(lines(&over, "Operator"), ["I will try another desk."], "{over:#}");
    let wanted = |to: &str| json!({ "by": KEY, "to": to, "kind": "conference" });
    assert_eq!(live.told("transfer_wanted"), [wanted(BUSY), wanted(DESK)]);
    assert_eq!(
        live.told("operator_left"),
        [json!({ "by": KEY, "reason": "transferred" })]
    );
}

#[tokio::test(start_paused = true)]
async fn an_end_during_an_operators_transfer_ends_both() {
    let live = live().await;
    let mut operator = live.operate().await;
    live.transfer(NOBODY, "conference").await.expect(200);
    operator.says("They will be with you in a moment.").await;
    live.post("end", json!({})).await;
    assert_eq!(operator.until_closed().await.0, 1_000);
    let over = live.world.until_over(&live.id, 20).await;
    assert_eq!(over["callTransferred"], false, "{over:#}");
    assert_eq!(
        live.told("operator_left"),
        [json!({ "by": KEY, "reason": "call_ended" })]
    );
}

#[tokio::test(start_paused = true)]
async fn the_agent_takes_a_caller_whom_an_operator_has_let_go() {
    let nobody = Phrases::built_in("en").unwrap().nobody_there;
    let live = live().await;
    let mut operator = live.operate().await;
    live.transfer(BUSY, "blind").await.expect(200);
    assert_eq!(operator.until_closed().await.0, 1_000);
    live.world.pass(15).await;
    let phone = texts(&live.world.phones().call(NUMBER).heard()).join(" ");
    assert!(phone.contains(nobody), "{phone}");
    assert_eq!(
        live.told("operator_left"),
        [json!({ "by": KEY, "reason": "transferred" })]
    );
    live.ticket().await.expect(201);
}
