//! Inbound calls: channels that the dialplan hands to our application and that we did not create.

use std::sync::Arc;

use domain::{
    phone_number::PhoneNumber,
    ports::carrier::{CarrierCallId, CarrierError, InboundCall, InboundRefusal},
};

use super::{
    account::NAME,
    call::{CallState, Happening},
    event::Channel,
    names::Part,
    switch::Switch,
};

/// Offers a call to the agent that answers its number. A call that is announced twice remains one call.
pub(super) fn arrives(switch: &Arc<Switch>, channel: Channel, args: &[String]) {
    let call = announced(&channel, args);
    let switch = switch.clone();
    tokio::spawn(async move {
        let refusal = match call {
            Some(call) => take(&switch, call).await,
            None => {
                tracing::warn!(
                    to = channel.dialplan.exten.escape_debug().to_string(),
                    "inbound call without a phone number; pass it in the dialplan as Stasis(app,number)"
                );
                Some("unallocated")
            }
        };
        if let Some(reason) = refusal
            && let Err(error) = switch.ari.hang_up(&channel.id, reason).await
        {
            tracing::warn!(%error, "refusal of inbound call failed");
        }
    });
}

/// Accepts the call. Returns the hang-up reason if it is refused.
async fn take(switch: &Arc<Switch>, call: InboundCall) -> Option<&'static str> {
    let (id, link) = (call.call.clone(), switch.link()?);
    let back = match link.receive(call).await {
        Ok(back) => back,
        Err(InboundRefusal::NobodyAnswers) => return Some("rejected"),
        Err(InboundRefusal::Busy | InboundRefusal::TooMany) => return Some("busy"),
        Err(InboundRefusal::Unavailable) => return Some("congestion"),
    };
    let attempt = back.attempt;
    // If the call is announced again, it already exists.
    if switch.knows(attempt) {
        return None;
    }
    switch.begin(id.clone(), back, CallState::new());
    match switch.ari.answer(&id.0).await {
        Ok(()) => {
            switch.happens(attempt, Happening::Entered(Part::Call));
        }
        Err(error) => {
            tracing::info!(%attempt, %error, "inbound call not answered");
            switch.happens(attempt, Happening::Gone(Part::Call, super::cause::Gone::unseen()));
            // It may have been answered anyway.
            return (error != CarrierError::NotFound).then_some("congestion");
        }
    }
    None
}

/// Parses the announced call. Returns `None` if it is not for a telephone number. The dialplan's argument
/// takes precedence over its extension.
pub fn announced(channel: &Channel, args: &[String]) -> Option<InboundCall> {
    let called = args.first().filter(|given| !given.is_empty());
    Some(InboundCall {
        carrier: NAME,
        call: CarrierCallId::checked(&channel.id)?,
        from: PhoneNumber::of_carrier(&channel.caller.number),
        to: PhoneNumber::of_carrier(called.unwrap_or(&channel.dialplan.exten))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(exten: &str, from: &str) -> Channel {
        let mut channel = Channel {
            id: "1700000000.12".to_owned(),
            ..Channel::default()
        };
        channel.dialplan.exten = exten.to_owned();
        channel.caller.number = from.to_owned();
        channel
    }

    #[test]
    fn both_numbers_are_read_as_trunks_write_them() {
        for (exten, args, from, to, by) in [
            (
                "+15550000001",
                vec![],
                "+14155550100",
                "+15550000001",
                Some("+14155550100"),
            ),
            (
                "15550000001",
                vec![],
                "14155550100",
                "+15550000001",
                Some("+14155550100"),
            ),
            ("s", vec!["+15550000001"], "anonymous", "+15550000001", None),
            ("+15550000002", vec![""], "", "+15550000002", None),
        ] {
            let args: Vec<String> = args.into_iter().map(str::to_owned).collect();
            let call = announced(&channel(exten, from), &args).unwrap();
            assert_eq!(call.to.as_str(), to);
            assert_eq!(call.from.as_ref().map(PhoneNumber::as_str), by);
        }
        assert_eq!(announced(&channel("s", "+14155550100"), &[]), None);
        assert_eq!(
            announced(
                &Channel {
                    id: String::new(),
                    ..channel("+15550000001", "")
                },
                &[]
            ),
            None
        );
    }
}
