//! Every codec that Telnyx streams in carries a conversation.

use carriers::telnyx::{
    account::TelnyxAccount,
    line::{ByteOrder, Codec, LineChoice},
};
use serde_json::Value;
use sim::stub_carriers::telnyx::TelnyxSettings;

use super::{COOPERATIVE, account, call, check_words, stub, world_with};
use support::{
    phone_log::PhoneLog,
    words::{lines, texts},
};

async fn check_codec(line: LineChoice, heard_in: Option<Codec>) {
    let stub = stub(TelnyxSettings {
        heard_in,
        order: line.order,
        ..TelnyxSettings::default()
    })
    .await;
    let world = world_with(TelnyxAccount { line, ..account(&stub) }).await;
    let id = call(&world, COOPERATIVE).await;
    world.until_over(&id, 120).await;
    world.pass(5).await;
    let (conversation, phones) = (world.read(&id).await, PhoneLog::new(stub.entries()));
    assert_eq!(stub.complaints(), Vec::<String>::new());
    if line.codec == Codec::L16 {
        check_most_words(&conversation, &phones);
    } else {
        check_words(&conversation, &phones, COOPERATIVE);
    }
}

/// The telephone's babble reaches up to 4 kHz. Where rates change on the way, the filters take the highest sounds, and
/// with them some words; samples in the wrong order would take all.
fn check_most_words(conversation: &Value, phones: &PhoneLog) {
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    let phone = phones.call(COOPERATIVE);
    for (written, real) in [
        (lines(conversation, "User"), texts(&phone.said())),
        (texts(&phone.heard()), lines(conversation, "Agent")),
    ] {
        let (written, real) = (written.join(" "), real.join(" "));
        let understood = real.split(' ').filter(|word| written.contains(word)).count();
        let all = real.split(' ').count();
        assert!(all > 5 && 2 * understood > all, "{written:?} of {real:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_codec_carries_a_conversation() {
    for (codec, order) in [
        (Codec::Pcma, ByteOrder::Big),
        (Codec::L16, ByteOrder::Big),
        (Codec::L16, ByteOrder::Little),
    ] {
        check_codec(LineChoice { codec, order }, None).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_heard_in_another_codec_than_it_was_asked_for() {
    check_codec(LineChoice::default(), Some(Codec::Pcma)).await;
    let wide = LineChoice {
        codec: Codec::L16,
        order: ByteOrder::Big,
    };
    check_codec(wide, Some(Codec::Pcmu)).await;
}
