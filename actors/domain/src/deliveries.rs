//! Deliveries after a call: the kinds an agent asks for, their targets, and the schedule of retries.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::{
    agent::{CallActions, PostCallEmail},
    id::{AccountId, AppointmentId, WebhookId},
};

/// Kind of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryKind {
    /// `postCallWebhook`.
    Webhook,
    /// `postCallEmail`.
    Email,
    /// The invitation to an appointment, by e-mail.
    Invitation,
    /// An event of the account, to a webhook endpoint.
    Event,
}

spelled!(DeliveryKind, Webhook "webhook", Email "email", Invitation "invitation", Event "event");

/// `postCallEmail.emailConfiguration` with the fields that the service reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MailTarget {
    /// Recipients.
    pub to: Vec<String>,
    /// Recipients of copies.
    pub cc: Vec<String>,
    /// Subject; may contain `{{variables}}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Whether to include the transcript.
    pub include_transcript: bool,
}

impl MailTarget {
    /// Returns the recipients of e-mails after calls; none if there are none.
    pub fn of(email: &PostCallEmail) -> Option<Self> {
        let mut configuration = email.email_configuration.clone();
        // A free-form object is stored as it was sent, and a member that is null is unset.
        configuration.retain(|_, value| !value.is_null());
        let target = Self::deserialize(Value::Object(configuration)).unwrap_or_default();
        let somebody = !(target.to.is_empty() && target.cc.is_empty());
        (email.enabled && somebody).then_some(target)
    }
}

/// A delivery that an agent asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedDelivery {
    /// Kind.
    pub kind: DeliveryKind,
    /// URL of a webhook, a [`MailTarget`] as JSON, or id of an appointment.
    pub target: String,
    /// Lane. Deliveries of one lane share an endpoint, and wait for each other rather than for other lanes.
    pub lane: String,
}

/// Returns the deliveries that an agent's stored document asks for now.
pub fn wanted(account: AccountId, document: &Map<String, Value>) -> Vec<WantedDelivery> {
    let actions = document
        .get("platformSettings")
        .and_then(|settings| settings.get("callActions"))
        .and_then(|actions| CallActions::deserialize(actions).ok())
        .unwrap_or_default();
    webhook(account, &actions)
        .into_iter()
        .chain(email(account, &actions))
        .collect()
}

fn webhook(account: AccountId, actions: &CallActions) -> Option<WantedDelivery> {
    let target = actions.post_call_webhook.clone().filter(|text| !text.is_empty())?;
    let origin = Url::parse(&target).map(|url| url.origin().ascii_serialization());
    Some(WantedDelivery {
        kind: DeliveryKind::Webhook,
        lane: format!("{account} {}", origin.unwrap_or_default()),
        target,
    })
}

fn email(account: AccountId, actions: &CallActions) -> Option<WantedDelivery> {
    let target = MailTarget::of(&actions.post_call_email)?;
    let target = serde_json::to_string(&target).ok()?;
    Some(WantedDelivery {
        kind: DeliveryKind::Email,
        target,
        lane: format!("{account} mail"),
    })
}

/// Returns the e-mail with an invitation. It is sent as soon as the appointment is booked.
pub fn invitation(account: AccountId, appointment: AppointmentId) -> WantedDelivery {
    WantedDelivery {
        kind: DeliveryKind::Invitation,
        target: appointment.to_string(),
        lane: format!("{account} mail"),
    }
}

/// Marks the lane of a webhook endpoint, where the names of other lanes have a URL or `mail`.
const ENDPOINT: &str = "endpoint";

/// Returns the lane of a webhook endpoint.
pub fn endpoint_lane(account: AccountId, endpoint: WebhookId) -> String {
    format!("{account} {ENDPOINT} {endpoint}")
}

/// Returns whether a lane is that of a webhook endpoint.
pub fn is_endpoint_lane(lane: &str) -> bool {
    lane.split(' ').nth(1) == Some(ENDPOINT)
}

/// Seconds between a failed try and the next, by the number of earlier failures; documented in the API's decisions.
const SCHEDULE_S: [u64; 7] = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];

/// Longest `Retry-After` that is obeyed: the schedule's own longest pause.
const LONGEST_WISH: Duration = Duration::from_secs(36_000);

/// Returns how long a delivery waits after a failed try, given the number that `failed` before; at least as
/// long as the receiver asked for. None if that was the last try.
pub fn next_try(failed: i64, wish: Option<Duration>) -> Option<Duration> {
    let pause = SCHEDULE_S.get(usize::try_from(failed).ok()?)?;
    let wish = wish.unwrap_or_default().min(LONGEST_WISH);
    Some(Duration::from_secs(*pause).max(wish))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent;

    fn of(actions: &Value) -> Vec<(DeliveryKind, String, String)> {
        let document = json!({ "platformSettings": { "callActions": actions } });
        wanted(AccountId::FIRST, document.as_object().unwrap())
            .into_iter()
            .map(|wanted| (wanted.kind, wanted.target, wanted.lane))
            .collect()
    }

    #[test]
    fn a_null_member_of_the_mail_leaves_the_others() {
        let mail = |configuration: Value| {
            let actions = json!({ "postCallEmail": { "enabled": true, "emailConfiguration": configuration } });
            json!({ "platformSettings": { "callActions": actions } })
        };
        let mut created = mail(json!({
            "to": ["a@example.com"], "cc": null, "subject": null, "includeTranscript": null,
        }));
        created["name"] = json!("Ann");
        created["conversationConfig"] = json!({ "agent": { "prompt": { "prompt": "Be brief." } } });
        let created = agent::validate_create(&created).unwrap();
        let both = mail(json!({ "to": ["a@example.com"], "cc": ["b@example.com"] }));
        let both = agent::merge_patch(&created, &both).unwrap();
        let patched = agent::merge_patch(&both, &mail(json!({ "cc": null }))).unwrap();
        for document in [created, patched] {
            let [sent] = &wanted(AccountId::FIRST, &document)[..] else {
                panic!("no mail is sent");
            };
            assert_eq!(
                sent.target,
                r#"{"to":["a@example.com"],"cc":[],"includeTranscript":false}"#
            );
        }
    }

    #[test]
    fn an_agent_gets_what_it_asks_for_and_nothing_by_default() {
        assert_eq!(wanted(AccountId::FIRST, &Map::new()), []);
        assert_eq!(of(&json!({ "postCallEmail": { "enabled": true } })), []);
        let configuration = json!({ "to": ["a@example.com"], "own": 1 });
        let off = json!({ "postCallEmail": { "emailConfiguration": configuration } });
        assert_eq!(of(&off), []);
        let (account, url) = (AccountId::FIRST, "https://Example.com:8443/a?b=c");
        let both = json!({
            "postCallWebhook": url,
            "postCallEmail": { "enabled": true, "emailConfiguration": configuration },
        });
        let target = r#"{"to":["a@example.com"],"cc":[],"includeTranscript":false}"#;
        let expected = [
            (
                DeliveryKind::Webhook,
                url.to_owned(),
                format!("{account} https://example.com:8443"),
            ),
            (DeliveryKind::Email, target.to_owned(), format!("{account} mail")),
        ];
        assert_eq!(of(&both), expected);
    }

    #[test]
    fn the_schedule_is_the_contracts_and_a_receiver_may_ask_for_longer_pauses() {
        let seconds = |failed, wish| next_try(failed, wish).map(|pause| pause.as_secs());
        let all: Vec<_> = (0..=7).map(|failed| seconds(failed, None)).collect();
        let expected = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000].map(Some);
        assert_eq!((&all[..7], all[7]), (&expected[..], None));
        let wish = |wish| Some(Duration::from_secs(wish));
        assert_eq!(seconds(0, wish(1)), Some(5));
        assert_eq!(seconds(0, wish(60)), Some(60));
        assert_eq!(seconds(0, wish(u64::MAX)), Some(36_000));
        assert_eq!(seconds(7, wish(60)), None);
    }
}
