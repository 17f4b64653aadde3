//! Resynchronisation after lost events: compares the existing channels with the known calls.

use std::{collections::BTreeSet, sync::Arc};

use domain::{
    id::AttemptId,
    ports::carrier::{CarrierCallId, CarrierError, WayBack},
};

use super::{
    ari::Bridge,
    call::{CallState, Happening, Listed},
    event::Channel,
    inbound,
    names::Part,
    switch::Switch,
};

/// Updates every call with the state of its channels, answers calls that arrived meanwhile, and hangs up
/// unknown channels.
pub(super) async fn catch_up(switch: &Arc<Switch>) -> Result<(), CarrierError> {
    // Taken before the list, which need not contain a call that is dialed meanwhile.
    let living = switch.living();
    let channels = switch.ari.channels().await?;
    let bridges = switch.ari.bridges().await?;
    for (attempt, call) in living {
        let listed = listed(switch, &channels, attempt, &call);
        switch.happens(attempt, Happening::Listed(listed));
    }
    let left: BTreeSet<AttemptId> = channels
        .iter()
        .map(|channel| &channel.id)
        .chain(bridges.iter().map(|bridge| &bridge.id))
        .filter_map(|name| Some(switch.names.read(name)?.0))
        .filter(|attempt| !switch.knows(*attempt))
        .collect();
    for attempt in left {
        settle(switch, attempt, &channels, &bridges).await?;
    }
    let bridged: BTreeSet<&String> = bridges.iter().flat_map(|bridge| &bridge.channels).collect();
    for channel in channels {
        if !bridged.contains(&channel.id) {
            take_care_of(switch, channel).await?;
        }
    }
    Ok(())
}

/// Handles a channel that is in our application but in no bridge, which means an inbound call.
async fn take_care_of(switch: &Arc<Switch>, channel: Channel) -> Result<(), CarrierError> {
    let Some(args) = channel.in_app(&switch.ari.account().app) else {
        return Ok(());
    };
    if switch.owner(&channel.id).is_some() {
        return Ok(());
    }
    if channel.state == "Ring" {
        // It was announced while we received no events.
        inbound::arrives(switch, channel, &args);
        return Ok(());
    }
    // It was answered by an earlier process of this service, which got no further.
    tracing::warn!(channel = %channel.id.escape_debug(), "hanging up abandoned inbound call");
    hang_up(switch, &channel.id).await
}

/// Hangs up an unneeded channel. If Asterisk is unavailable, the next resynchronisation tries again.
async fn hang_up(switch: &Switch, channel: &str) -> Result<(), CarrierError> {
    match switch.ari.hang_up(channel, "normal").await {
        Err(error @ CarrierError::Unavailable(_)) => Err(error),
        Err(CarrierError::NotFound) | Ok(()) => Ok(()),
        Err(error) => {
            tracing::warn!(channel = %channel.escape_debug(), %error, "hang-up of unneeded channel failed");
            Ok(())
        }
    }
}

fn listed(switch: &Switch, channels: &[Channel], attempt: AttemptId, call: &CarrierCallId) -> Listed {
    let parts = channels.iter().filter_map(|channel| {
        if channel.id == call.0 {
            return Some((Part::Call, channel.is_up()));
        }
        let (owner, part) = switch.names.read(&channel.id)?;
        (owner == attempt && part != Part::Call).then(|| (part, channel.is_up()))
    });
    Listed {
        channels: parts.collect(),
    }
}

/// Ends the remains of a call of an earlier process of this service. If its caller talks with a transfer
/// destination, the call is only followed until its end.
async fn settle(
    switch: &Arc<Switch>,
    attempt: AttemptId,
    channels: &[Channel],
    bridges: &[Bridge],
) -> Result<(), CarrierError> {
    let name = switch.names.bridge(attempt);
    let bridge = bridges.iter().find(|bridge| bridge.id == name);
    let inside = bridge.map(|bridge| &*bridge.channels).unwrap_or_default();
    let peer = inside.iter().find_map(|channel| match switch.names.read(channel)? {
        (_, Part::Peer(n)) => Some(n),
        _ => None,
    });
    let is_call = |channel: &&String| !matches!(switch.names.read(channel), Some((_, Part::Media(_) | Part::Peer(_))));
    if let (Some(peer), Some(call)) = (peer, inside.iter().find(is_call)) {
        let back = WayBack {
            attempt,
            status_token: String::new(),
            media_token: String::new(),
        };
        switch.begin(CarrierCallId(call.clone()), back, CallState::handed_on(peer));
        return Ok(());
    }
    let ours = channels.iter().map(|channel| &channel.id);
    let ours = ours.filter(|channel| switch.names.read(channel).is_some_and(|(owner, _)| owner == attempt));
    let all: BTreeSet<&String> = ours.chain(inside).collect();
    tracing::warn!(%attempt, channels = all.len(), "ending call of an earlier process");
    for channel in all {
        hang_up(switch, channel).await?;
    }
    if bridge.is_some() {
        let _ = switch.ari.unbridge(&name).await;
    }
    Ok(())
}
