//! Scopes that each operation needs: `read` for `GET`, else `write`, with a few exceptions. The description of the API
//! shows them.

use domain::scope::Scope;

const NONE: &[Scope] = &[];
const READ: &[Scope] = &[Scope::Read];
const CALLS: &[Scope] = &[Scope::Calls];
const LIVE: &[Scope] = &[Scope::Live];
const WRITE: &[Scope] = &[Scope::Write];
const ADMIN: &[Scope] = &[Scope::Admin];

/// Prefix of the paths in the tables below.
const BASE: &str = "/public/v1";

/// Exceptions: method (`*` for all), path (a prefix if it ends with `…`), scopes. The first match applies.
const EXCEPTIONS: [(&str, &str, &[Scope]); 21] = [
    // The response is a key with all scopes.
    ("POST", "/me/api-key/regenerate", &Scope::ALL),
    ("PATCH", "/me/settings", ADMIN),
    ("*", "/me/api-keys…", ADMIN),
    ("*", "/me/webhook-secret…", ADMIN),
    ("*", "/webhooks…", ADMIN),
    ("POST", "/services/{serviceName}/check", ADMIN),
    ("GET", "/session", NONE),
    ("DELETE", "/session", NONE),
    ("DELETE", "/session/{sessionId}", ADMIN),
    ("DELETE", "/conversations/{conversationId}", ADMIN),
    ("POST", "/conversations/{conversationId}/…", LIVE),
    ("GET", "/conversations/{conversationId}/live", LIVE),
    // These store nothing.
    ("POST", "/knowledge-base/search", READ),
    ("POST", "/campaigns/csv/check", READ),
    ("POST", "/calls…", CALLS),
    ("POST", "/agents/test-call", CALLS),
    ("POST", "/campaigns/{campaignId}/launch", CALLS),
    ("POST", "/campaigns/{campaignId}/pause", CALLS),
    ("POST", "/campaigns/{campaignId}/stop", CALLS),
    ("POST", "/campaigns/{campaignId}/schedule", CALLS),
    ("POST", "/campaigns/{campaignId}/call-again", CALLS),
];

/// Fields of `data` that stay in the answer to a change made with a key that lacks `read`: the id, the state, and what the
/// scope concerns. Paths are as above. Nothing else stays, so a path that is not listed answers with the version alone.
const KEPT: [(&str, &[&str]); 25] = [
    ("/me/settings", &["defaultCountry", "timezone"]),
    ("/me/webhook-secret…", &["webhookSecret"]),
    ("/me/api-keys…", &["keyId", "apiKey", "scopes", "expiresAt"]),
    ("/services/…", &["works", "message", "enter"]),
    ("/agents/test-call", &["conversationId", "mediaUrl"]),
    ("/agents/…", &["agentId"]),
    ("/knowledge-base/documents/…", &["documentId"]),
    ("/knowledge-base/groups…", &["groupId"]),
    ("/tools…", &["toolId"]),
    ("/transfer-rules…", &["transferRuleId"]),
    ("/phone-numbers/…", &["phoneNumber"]),
    ("/do-not-call", &["phoneNumber"]),
    ("/contacts…", &["contactId"]),
    (
        "/campaigns/{campaignId}/contacts…",
        &[
            "campaignId",
            "status",
            "contactCount",
            "added",
            "alreadyPresent",
            "alreadyPresentRows",
        ],
    ),
    (
        "/campaigns/{campaignId}/call-again",
        &["campaignId", "status", "contacts"],
    ),
    (
        "/campaigns…",
        &[
            "campaignId",
            "status",
            "active",
            "scheduled",
            "nextRunAt",
            "startIndex",
            "contactCount",
            "progress",
        ],
    ),
    ("/calls/inbound", &["conversationId", "mediaUrl"]),
    ("/calls", &["conversationId", "status"]),
    (
        "/conversations/{conversationId}/live-tickets",
        &["ticket", "for", "url", "expiresAt"],
    ),
    (
        "/conversations/{conversationId}/text",
        &["conversationId", "turns", "next"],
    ),
    ("/conversations/…", &["conversationId", "status"]),
    ("/webhooks/{webhookId}/rotate-secret", &["secret"]),
    (
        "/webhooks/{webhookId}/…",
        &["deliveryId", "type", "eventId", "state", "attempts"],
    ),
    ("/webhooks/{webhookId}", &["webhookId", "enabled"]),
    ("/webhooks", &["webhookId", "enabled", "secret"]),
];

const FEEDS: &str = "A campaign that is active, scheduled, waiting or dialing also needs `calls`.";

/// Operations that need another scope for some requests. Their handlers check it.
const CONDITIONS: [(&str, &str, &str); 8] = [
    ("POST", "/campaigns", "`launch` and `scheduled` also need `calls`."),
    ("POST", "/campaigns/csv", "`launch` and `scheduled` also need `calls`."),
    (
        "PATCH",
        "/campaigns/{campaignId}",
        "`active` and `scheduled` also need `calls`. So do contacts, agent and schedule of a campaign that is active, \
         scheduled, waiting or dialing.",
    ),
    ("POST", "/campaigns/{campaignId}/contacts", FEEDS),
    ("POST", "/campaigns/{campaignId}/contacts/csv", FEEDS),
    ("DELETE", "/contacts/{contactId}", "`erase=true` also needs `admin`."),
    ("GET", "/session", "Without `admin` only the present session is listed."),
    ("POST", "/me/api-keys", "A key gives only scopes that it has itself."),
];

/// Returns all scopes that an operation needs. `path` is its pattern, such as
/// `/public/v1/agents/{agentId}`.
pub fn required(method: &str, path: &str) -> &'static [Scope] {
    let method = if method == "HEAD" { "GET" } else { method };
    let exception = EXCEPTIONS
        .iter()
        .find(|(of, pattern, _)| fits(pattern, path) && (*of == "*" || of.eq_ignore_ascii_case(method)));
    match exception {
        Some((_, _, scopes)) => scopes,
        None if method.eq_ignore_ascii_case("GET") => READ,
        None => WRITE,
    }
}

fn fits(pattern: &str, path: &str) -> bool {
    let below = path.strip_prefix(BASE).unwrap_or(path);
    match pattern.strip_suffix('…') {
        Some(start) => below.starts_with(start),
        None => below == pattern,
    }
}

/// Returns the fields of `data` that an answer has for a key without `read`. None if the answer is not shortened: reading needs
/// `read` or `live`, and the answer to a deletion only names the deleted resource.
pub fn kept(method: &str, path: &str) -> Option<&'static [&'static str]> {
    let changes = ["POST", "PATCH"].iter().any(|name| name.eq_ignore_ascii_case(method));
    if !changes || required(method, path).contains(&Scope::Read) {
        return None;
    }
    Some(match KEPT.iter().find(|(pattern, _)| fits(pattern, path)) {
        Some((_, fields)) => fields,
        None => &[],
    })
}

/// Returns a sentence for people on the scopes that an operation needs.
pub fn sentence(method: &str, path: &str) -> String {
    let names: Vec<String> = required(method, path)
        .iter()
        .map(|scope| format!("`{}`", scope.as_str()))
        .collect();
    let below = path.strip_prefix(BASE).unwrap_or(path);
    let condition = CONDITIONS
        .iter()
        .find(|(of, pattern, _)| of.eq_ignore_ascii_case(method) && *pattern == below);
    let condition = condition.map_or_else(String::new, |(_, _, text)| format!(" {text}"));
    match names.as_slice() {
        [] => format!("Needs no scope.{condition}"),
        names => format!("Needs the scope {}.{condition}", names.join(", ")),
    }
}
