//! Request of a tool. The address is the owner's; arguments go into the body or become values of its query.

use std::time::Duration;

use domain::ports::{store::HttpTool, tool_runner::ToolFault};
use reqwest::{Client, Method, RequestBuilder, header};
use serde_json::Value;
use url::Url;

use net::address_policy::AddressPolicy;

/// Request that may be sent.
#[derive(Debug)]
pub(super) struct Prepared {
    method: Method,
    url: Url,
    body: Option<String>,
}

/// Builds the tool's request with the arguments.
pub(super) fn prepare(tool: &HttpTool, arguments: &Value, policy: &AddressPolicy) -> Result<Prepared, ToolFault> {
    let unusable = || ToolFault::Refused("its address cannot be used".into());
    let mut url = Url::parse(&tool.url).map_err(|_| unusable())?;
    if !matches!(url.scheme(), "http" | "https") || policy.check_literal(&url).is_err() {
        return Err(unusable());
    }
    let method: Method = tool.method.parse().map_err(|_| unusable())?;
    if method != Method::GET && method != Method::DELETE {
        let body = Some(arguments.to_string());
        return Ok(Prepared { method, url, body });
    }
    let values = arguments.as_object().into_iter().flatten();
    let values: Vec<(&String, String)> = values.filter_map(|(name, value)| Some((name, text(value)?))).collect();
    if !values.is_empty() {
        url.query_pairs_mut().extend_pairs(values);
    }
    Ok(Prepared {
        method,
        url,
        body: None,
    })
}

/// Returns a query value. `null` is left out.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

impl Prepared {
    /// Returns the signed content: the body, or the query if there is no body.
    pub(super) fn signed(&self) -> &str {
        match &self.body {
            Some(body) => body,
            None => self.url.query().unwrap_or_default(),
        }
    }

    pub(super) fn build(self, client: &Client, within: Duration) -> RequestBuilder {
        let request = client.request(self.method, self.url).timeout(within);
        let request = request.header(header::ACCEPT, "application/json, text/*;q=0.5");
        match self.body {
            Some(body) => request.header(header::CONTENT_TYPE, "application/json").body(body),
            None => request,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn tool(method: &str, url: &str) -> HttpTool {
        HttpTool {
            name: "t".into(),
            description: "d".into(),
            parameters: json!({ "type": "object" }),
            url: url.into(),
            method: method.into(),
            timeout_ms: 1_000,
        }
    }

    fn prepared(method: &str, url: &str, arguments: &Value) -> Result<Prepared, ToolFault> {
        prepare(&tool(method, url), arguments, &AddressPolicy::public_only())
    }

    #[test]
    fn arguments_are_a_body_or_a_query() {
        let arguments = json!({ "day": "Mon & Tue", "n": 2, "none": null, "list": ["a"] });
        let posted = prepared("POST", "https://example.com/a?k=1", &arguments).unwrap();
        assert_eq!(posted.url.as_str(), "https://example.com/a?k=1");
        assert_eq!(posted.signed(), arguments.to_string());
        let got = prepared("GET", "https://example.com/a?k=1", &arguments).unwrap();
        assert_eq!(got.signed(), "k=1&day=Mon+%26+Tue&n=2&list=%5B%22a%22%5D");
        let bare = prepared("DELETE", "https://example.com/a", &json!({})).unwrap();
        assert_eq!(bare.url.as_str(), "https://example.com/a");
    }

    #[test]
    fn addresses_that_are_not_allowed_are_refused_at_each_request() {
        for url in [
            "http://127.0.0.1/",
            "http://0x7f.1/",
            "http://[::1]/",
            "file:///etc/passwd",
            "nonsense",
        ] {
            let refused = prepared("POST", url, &json!({}));
            assert!(matches!(refused, Err(ToolFault::Refused(_))), "{url}");
        }
    }

    proptest! {
        #[test]
        fn no_argument_changes_where_a_request_goes(name: String, value: String, method in 0..5usize) {
            let method = ["GET", "POST", "PUT", "PATCH", "DELETE"][method];
            let arguments = json!({ name: value });
            let made = prepared(method, "https://example.com:8443/tools/price?k=1", &arguments).unwrap();
            prop_assert_eq!(made.url.scheme(), "https");
            prop_assert_eq!(made.url.host_str(), Some("example.com"));
            prop_assert_eq!((made.url.port(), made.url.path()), (Some(8443), "/tools/price"));
            prop_assert_eq!((made.url.username(), made.url.fragment()), ("", None));
            prop_assert!(made.url.query().unwrap().starts_with("k=1"));
            prop_assert!(made.url.as_str().is_ascii());
        }
    }
}
