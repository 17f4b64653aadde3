//! Calls that come in: a channel that the dialplan hands to our application, and that is not of our making.

use std::sync::Arc;

use domain::{
    phone_number::PhoneNumber,
    ports::carrier::{CarrierCallId, CarrierError, InboundCall, InboundRefusal},
};

use super::{
    NAME,
    call::{CallState, Happening},
    event::Channel,
    names::Part,
    switch::Switch,
};

/// Offers a call to whoever answers its number. The same call announced twice is one call.
pub(super) fn arrives(switch: &Arc<Switch>, channel: Channel, args: &[String]) {
    let call = announced(&channel, args);
    let switch = switch.clone();
    tokio::spawn(async move {
        let refusal = match call {
            Some(call) => take(&switch, call).await,
            None => {
                tracing::warn!(
                    to = channel.dialplan.exten.escape_debug().to_string(),
                    "a call came in for what is no telephone number; give it to the application: Stasis(app,number)"
                );
                Some("unallocated")
            }
        };
        if let Some(reason) = refusal
            && let Err(error) = switch.ari.hang_up(&channel.id, reason).await
        {
            tracing::warn!(%error, "a call that came in could not be refused");
        }
    });
}

/// Takes it; with what reason it is refused if it is not.
async fn take(switch: &Arc<Switch>, call: InboundCall) -> Option<&'static str> {
    let (id, link) = (call.call.clone(), switch.link()?);
    let back = match link.receive(call).await {
        Ok(back) => back,
        Err(InboundRefusal::NobodyAnswers) => return Some("rejected"),
        Err(InboundRefusal::Busy | InboundRefusal::TooMany) => return Some("busy"),
        Err(InboundRefusal::Unavailable) => return Some("congestion"),
    };
    let attempt = back.attempt;
    // Announced again, it is the call that is there already.
    if switch.knows(attempt) {
        return None;
    }
    switch.begin(id.clone(), back, CallState::new());
    match switch.ari.answer(&id.0).await {
        Ok(()) => {
            switch.happens(attempt, Happening::Entered(Part::Call));
        }
        Err(error) => {
            tracing::info!(%attempt, %error, "a call that came in was not answered");
            switch.happens(attempt, Happening::Gone(Part::Call, super::cause::Gone::unseen()));
            // It may have been answered all the same.
            return (error != CarrierError::NotFound).then_some("congestion");
        }
    }
    None
}

/// The call as it is announced; none when it is for no telephone number. The dialplan's word outranks its extension.
pub fn announced(channel: &Channel, args: &[String]) -> Option<InboundCall> {
    let called = args.first().filter(|given| !given.is_empty());
    Some(InboundCall {
        carrier: NAME,
        call: CarrierCallId::checked(&channel.id)?,
        from: number(&channel.caller.number),
        to: number(called.unwrap_or(&channel.dialplan.exten))?,
    })
}

/// Trunks write international numbers with and without their plus sign.
fn number(text: &str) -> Option<PhoneNumber> {
    let parsed = PhoneNumber::parse(text).ok();
    parsed.or_else(|| PhoneNumber::parse(&format!("+{text}")).ok())
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
