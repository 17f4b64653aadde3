//! The recorder of metrics, and what `GET /metrics` answers.

use std::{sync::OnceLock, time::Duration};

use actors::node::NodeHandle;
use metrics_exporter_prometheus::PrometheusHandle;

use crate::telemetry;

/// How often recorded durations are moved into their histograms. Until then each of them takes memory.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// Recorder of metrics. A process can install only one, so several apps in one process (tests) share it.
static METRICS: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

pub(super) fn handle() -> &'static Option<PrometheusHandle> {
    METRICS.get_or_init(|| telemetry::init_metrics().ok())
}

pub(super) async fn render(node: &NodeHandle) -> String {
    telemetry::set_gauges(node.switchboard.inspect().await, node.actors());
    telemetry::set_journal(node.backlog());
    handle().as_ref().map(PrometheusHandle::render).unwrap_or_default()
}

/// Empties the recorded durations regularly, since nothing else does if nobody reads the metrics.
pub(super) async fn keep_small() {
    let Some(metrics) = handle() else { return };
    let mut upkeep = tokio::time::interval(METRICS_UPKEEP);
    loop {
        upkeep.tick().await;
        metrics.run_upkeep();
    }
}
