//! What was missed while no events were heard: the channels there are, compared with the calls we know.

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

/// Tells every call how its channels stand, answers whoever came in meanwhile, and hangs up what nobody knows.
pub(super) async fn catch_up(switch: &Arc<Switch>) -> Result<(), CarrierError> {
    // Taken first: a call that is dialed meanwhile need not be in the list.
    let living = switch.living();
    let channels = switch.ari.channels().await?;
    let bridges = switch.ari.bridges().await?;
    for (attempt, call) in living {
        let listed = listed(switch, &channels, (attempt, &call));
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

/// A channel that stands in our application, and in no bridge: one that came in.
async fn take_care_of(switch: &Arc<Switch>, channel: Channel) -> Result<(), CarrierError> {
    let Some(args) = channel.in_app(&switch.ari.account().app) else {
        return Ok(());
    };
    if switch.owner(&channel.id).is_some() {
        return Ok(());
    }
    if channel.state == "Ring" {
        // It was announced while nobody heard it.
        inbound::arrives(switch, channel, &args);
        return Ok(());
    }
    // It was answered by an earlier life of this service, which got no further.
    tracing::warn!(channel = %channel.id.escape_debug(), "hanging up a call that came in and that nobody talks with");
    hang_up(switch, &channel.id).await
}

/// Hangs a channel up that nobody needs. What Asterisk cannot do now is tried again with the next list.
async fn hang_up(switch: &Switch, channel: &str) -> Result<(), CarrierError> {
    match switch.ari.hang_up(channel, "normal").await {
        Err(error @ CarrierError::Unavailable(_)) => Err(error),
        Err(CarrierError::NotFound) | Ok(()) => Ok(()),
        Err(error) => {
            tracing::warn!(channel = %channel.escape_debug(), %error, "a channel that nobody needs is not hung up");
            Ok(())
        }
    }
}

fn listed(switch: &Switch, channels: &[Channel], (attempt, call): (AttemptId, &CarrierCallId)) -> Listed {
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

/// Ends what is left of a call of an earlier life of this service, unless its caller talks with whom it was handed on
/// to: then it is only seen to its end.
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
    tracing::warn!(%attempt, channels = all.len(), "ending what is left of a call of an earlier start");
    for channel in all {
        hang_up(switch, channel).await?;
    }
    if bridge.is_some() {
        let _ = switch.ari.unbridge(&name).await;
    }
    Ok(())
}
