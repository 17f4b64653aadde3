//! Heartbeats, and the check after a suspension: the process asks whether it was declared dead meanwhile.

use std::sync::Arc;

use ractor::ActorRef;
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use super::NodeMessage;
use crate::dial_gate::DialGate;
use domain::{
    id::NodeId,
    node_times::Times,
    ports::{Ports, store::StoreError},
    time::Clock,
};

/// Watches both clocks. After a suspension of the process, the next heartbeat is requested at once.
pub async fn watch(gate: DialGate, clock: Arc<dyn Clock>, times: Times, doubts: Arc<Notify>) {
    loop {
        sleep(times.tick()).await;
        if gate.tick(clock.now()) {
            tracing::warn!("process suspended or clock set forward, dialing paused until the next heartbeat");
            doubts.notify_one();
        }
    }
}

/// Sends heartbeats until the store declares this process dead.
pub async fn show(
    root: ActorRef<NodeMessage>,
    ports: Ports,
    (node, times): (NodeId, Times),
    gate: DialGate,
    doubts: Arc<Notify>,
) {
    let mut wait = times.heartbeat;
    loop {
        tokio::select! {
            () = sleep(wait) => {}
            () = doubts.notified() => {}
        }
        let (began, suspicions) = (Instant::now(), gate.suspicions());
        wait = match ports.store.heartbeat(node).await {
            Ok(pulse) => {
                let doubted = gate.beat(began, suspicions, pulse);
                let _ = root.cast(NodeMessage::Alive { node, pulse, doubted });
                times.heartbeat
            }
            Err(StoreError::Fenced) => {
                gate.fence();
                let _ = root.cast(NodeMessage::Fenced(node));
                return;
            }
            Err(error) => {
                tracing::warn!(%error, "heartbeat failed");
                times.tick()
            }
        };
    }
}
