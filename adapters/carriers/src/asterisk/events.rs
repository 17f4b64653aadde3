//! Asterisk's event stream: one socket for our application, reconnected whenever it is lost. After a
//! reconnect the missed changes are read from Asterisk.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use domain::id::AttemptId;
use futures_util::{SinkExt, StreamExt};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_tungstenite::tungstenite::Message;

use super::{
    call::Happening,
    event::{self, News},
    inbound,
    names::Part,
    resync,
    switch::{Connection, Switch},
};
use crate::{
    http::{socket_address, words::plain_words},
    link::CarrierLink,
};
use net::socket::{ConnectError, ProviderSocket, connect};

/// First pause before a reconnect; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// After a connection of this length the pauses start over.
const STEADY_AFTER: Duration = Duration::from_secs(30);
/// Interval of pings to Asterisk.
const PING_EVERY: Duration = Duration::from_secs(10);
/// A socket without any message for so long, despite pings, is dead.
const SILENT_FOR: Duration = Duration::from_secs(30);

/// Listens until the service ends.
pub async fn listen(switch: Arc<Switch>, link: CarrierLink) {
    switch.opens(link);
    let mut pause = FIRST_PAUSE;
    loop {
        match open(&switch).await {
            Ok(socket) => {
                let begun = Instant::now();
                let why = hear(&switch, socket).await;
                if begun.elapsed() >= STEADY_AFTER {
                    pause = FIRST_PAUSE;
                }
                tracing::warn!(why, "Asterisk event connection lost");
                switch.connection_is(Connection::Down(why));
            }
            Err(ConnectError::Refused { status, words }) if matches!(status, 400..=499) => {
                let words = plain_words(&words);
                let why =
                    format!("{status}: {words}; check ASTERISK_ARI_URL, ASTERISK_ARI_USER and ASTERISK_ARI_PASSWORD");
                tracing::error!(why, "Asterisk refused the event connection");
                switch.connection_is(Connection::Refused(why));
            }
            Err(error) => switch.connection_is(Connection::Down(plain_words(&error.to_string()))),
        }
        metrics::counter!("ringback_asterisk_event_sockets_lost_total").increment(1);
        sleep(pause.mul_f64(rand::random_range(1.0..1.25))).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn open(switch: &Switch) -> Result<ProviderSocket, ConnectError> {
    let account = switch.ari.account();
    let url = format!(
        "{}/events?app={}&subscribeAll=false",
        socket_address(&account.ari_url),
        account.app
    );
    let login = BASE64.encode(format!("{}:{}", account.user, account.password.secret()));
    connect(&url, &[("authorization", &format!("Basic {login}"))]).await
}

/// Reads events until the socket is lost. Returns the reason.
async fn hear(switch: &Arc<Switch>, mut socket: ProviderSocket) -> String {
    // The socket is open: later changes arrive as events, and earlier ones are in the list.
    if let Err(error) = resync::catch_up(switch).await {
        return format!("resynchronisation failed: {error}");
    }
    switch.connection_is(Connection::Up);
    let mut pings = interval(PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = Instant::now();
    loop {
        let message = tokio::select! {
            message = socket.next() => message,
            _ = pings.tick() => {
                if last.elapsed() >= SILENT_FOR {
                    return format!("silent for {} s", SILENT_FOR.as_secs());
                }
                if let Err(error) = socket.send(Message::Ping(Vec::new().into())).await {
                    return error.to_string();
                }
                continue;
            }
        };
        last = Instant::now();
        match message {
            Some(Ok(Message::Text(text))) => {
                if let Some(why) = take(switch, &text) {
                    return why;
                }
            }
            Some(Ok(Message::Close(_))) | None => return "closed by Asterisk".to_owned(),
            Some(Err(error)) => return error.to_string(),
            Some(Ok(_)) => {}
        }
    }
}

/// Handles one event. Returns the reason if the socket is of no more use.
fn take(switch: &Arc<Switch>, text: &str) -> Option<String> {
    match event::parse(text) {
        Ok(News::Entered { channel, args }) => match switch.owner(&channel.id) {
            Some((attempt, part)) => happens(switch, attempt, part, Happening::Entered(part)),
            None => inbound::arrives(switch, *channel, &args),
        },
        Ok(News::Changed(channel)) => {
            if let Some((attempt, part)) = switch.owner(&channel.id).filter(|_| channel.is_ringing()) {
                switch.happens(attempt, Happening::Dial(part, "RINGING".to_owned()));
            }
        }
        Ok(News::Dial { peer, status }) => {
            if let Some((attempt, part)) = switch.owner(&peer) {
                switch.happens(attempt, Happening::Dial(part, status));
            }
        }
        Ok(News::Destroyed { id, gone }) => {
            if let Some((attempt, part)) = switch.owner(&id) {
                switch.happens(attempt, Happening::Gone(part, gone));
            }
        }
        Ok(News::Replaced) => {
            return Some("another program uses the same Stasis application; give each its own ASTERISK_APP".to_owned());
        }
        Ok(News::Nothing) => {}
        Err(error) => {
            metrics::counter!("ringback_asterisk_events_malformed_total").increment(1);
            tracing::warn!(%error, "malformed Asterisk event");
        }
    }
    None
}

/// Handles an answered channel of ours. If its call is unknown, it is hung up, because nobody would talk to it.
fn happens(switch: &Arc<Switch>, attempt: AttemptId, part: Part, happening: Happening) {
    if !switch.happens(attempt, happening) && !switch.knows(attempt) {
        let (switch, channel) = (switch.clone(), switch.names.channel(attempt, part));
        tokio::spawn(async move {
            tracing::warn!(channel, "hanging up channel of an unknown call");
            let _ = switch.ari.hang_up(&channel, "normal").await;
        });
    }
}
