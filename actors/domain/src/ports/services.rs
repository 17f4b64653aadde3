//! Services that the installation uses: carriers, and providers of language and speech. All accounts share them.

use async_trait::async_trait;
use serde::Serialize;
use utoipa::ToSchema;

/// Kind of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServiceKind {
    /// Carrier, which places calls.
    Carrier,
    /// Language model.
    Llm,
    /// Speech to text.
    Stt,
    /// Text to speech.
    Tts,
    /// Model that turns texts into vectors.
    Embeddings,
}

/// A carrier or provider that calls use or could use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// Unique name: kind, hyphen, carrier or provider.
    pub name: String,
    /// Kind.
    pub kind: ServiceKind,
    /// Carrier or provider, as written in settings.
    #[schema(value_type = String)]
    pub provider: &'static str,
    /// Place among those that the settings choose: 1 is the default, others are asked when it fails. Omitted if it is not
    /// chosen; agents may name it nevertheless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// Whether its settings are complete.
    pub configured: bool,
    /// Present failure, on the node that answers; omitted if none is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
    /// Environment variables to set if it is not configured, or to correct if it does not work.
    #[schema(value_type = Vec<String>)]
    pub settings: Vec<&'static str>,
}

/// A failure of a service after which no request succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Outage {
    /// Time of the failure; omitted if the service answers, but rejects requests.
    #[schema(format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Reason for the last failure.
    pub reason: String,
}

/// Result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct CheckReport {
    /// Whether the service works.
    pub works: bool,
    /// Description of its answer, or the problem.
    pub message: String,
    /// Phone numbers, if a carrier lists them.
    pub numbers: Vec<String>,
    /// Settings to enter at a carrier, so that calls come in.
    pub enter: Vec<CarrierEntry>,
}

/// A setting to enter at a carrier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct CarrierEntry {
    /// Place at the carrier.
    #[schema(value_type = String)]
    pub at: &'static str,
    /// Value to enter.
    pub value: String,
}

impl CheckReport {
    /// Creates the report of a service without numbers from its answer, or the problem.
    pub fn of(result: Result<String, String>) -> Self {
        let (works, numbers, enter) = (result.is_ok(), Vec::new(), Vec::new());
        let (Ok(message) | Err(message)) = result;
        Self {
            works,
            message,
            numbers,
            enter,
        }
    }
}

/// Knows the services. Its texts contain neither keys nor values of settings.
#[async_trait]
pub trait Services: Send + Sync {
    /// Returns all services, configured or not.
    fn all(&self) -> Vec<Service>;

    /// Returns the reasons why this node takes no new work, as in `GET /ready`.
    async fn problems(&self) -> Vec<&'static str>;

    /// Sends small real requests to a configured service.
    async fn check(&self, service: &Service) -> CheckReport;
}
