//! The addresses at which browsers may sign in, the session's cookie there, and the rules for requests that carry it.
//!
//! Over HTTPS that is the public address; else only a loopback address, where nobody listens on the way. Another `Host` is
//! refused, so that a foreign name which resolves to this service (DNS rebinding) gets nowhere.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use domain::{ports::store::SESSION_LASTS_US, secret_token::SecretToken};
use url::{Host, Url};

use crate::response::error::{ApiError, ApiResult};

/// Name of the cookie over HTTPS. Browsers accept it only from this host itself, and only with `Secure`.
const SECURE_COOKIE: &str = "__Host-ringback";
/// Name of the cookie at a loopback address without TLS.
const LOOPBACK_COOKIE: &str = "ringback";

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Ways to an address at which signing in is possible.
pub const WAYS_OUT: [&str; 3] = [
    "set RINGBACK_TLS_CERT and RINGBACK_TLS_KEY, and RINGBACK_PUBLIC_URL to this https:// address",
    "put a proxy that speaks HTTPS in front, and set RINGBACK_PUBLIC_URL to the proxy's https:// address",
    "use an SSH tunnel: run `ssh -L 8080:127.0.0.1:8080 SERVER` and open http://127.0.0.1:8080",
];

/// The service as browsers see it.
#[derive(Debug, Clone)]
pub struct Site {
    /// Origin of the public address, if that is HTTPS.
    public: Option<String>,
    /// Whether the service itself speaks TLS.
    has_tls: bool,
}

impl Site {
    /// Creates the site of a service with this public address. Headers of proxies are not believed, so a proxy that
    /// speaks HTTPS is only known from an `https://` address.
    pub fn new(public_url: &str, has_tls: bool) -> Self {
        let public = Url::parse(public_url).ok().filter(|url| url.scheme() == "https");
        Self {
            public: public.map(|url| url.origin().ascii_serialization()),
            has_tls,
        }
    }

    /// Returns the address that a request was sent to, if browsers may sign in there.
    pub fn entrance(&self, uri: &Uri, headers: &HeaderMap) -> Option<Entrance> {
        let host = only(headers, &header::HOST)?;
        if uri.authority().is_some_and(|authority| authority.as_str() != host) {
            return None;
        }
        let named = |scheme: &str| Url::parse(&format!("{scheme}://{host}/")).ok();
        let https = named("https")?;
        let origin = https.origin().ascii_serialization();
        // Anything else in the header has become another part of the address.
        if https.as_str().strip_suffix('/') != Some(&origin) {
            return None;
        }
        if self.public.as_ref() == Some(&origin) || (self.has_tls && is_loopback(&https)) {
            return Some(Entrance {
                origin,
                is_secure: true,
            });
        }
        let http = named("http").filter(is_loopback)?;
        Some(Entrance {
            origin: http.origin().ascii_serialization(),
            is_secure: false,
        })
    }

    /// Checks a request that carries the cookie, or asks for one: the address, and that no other site's page sent it.
    pub fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> ApiResult<Entrance> {
        let entrance = self.entrance(uri, headers).ok_or_else(|| {
            ApiError::Forbidden(format!(
                "browsers cannot sign in at this address, because it is neither HTTPS at RINGBACK_PUBLIC_URL nor a \
                 loopback address: {}",
                WAYS_OUT.join("; or ")
            ))
        })?;
        let reads = matches!(*method, Method::GET | Method::HEAD) && !headers.contains_key(header::UPGRADE);
        let allowed: &[&str] = if reads {
            &["same-origin", "none"]
        } else {
            &["same-origin"]
        };
        let mut fetched = headers.get_all(SEC_FETCH_SITE).iter();
        if !fetched.all(|site| allowed.iter().any(|allowed| site == allowed)) {
            return Err(ApiError::Forbidden(format!(
                "a page of another site sent this request with the session's cookie; pages of other sites need an API \
                 key, and a request must come from {}",
                entrance.origin
            )));
        }
        if !reads && only(headers, &header::ORIGIN) != Some(&*entrance.origin) {
            return Err(ApiError::Forbidden(format!(
                "a request that changes something with the session's cookie, or signs in, needs the header `Origin: {}`; \
                 a proxy in front must pass on `Host` as it came",
                entrance.origin
            )));
        }
        Ok(entrance)
    }
}

/// An address at which browsers may sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entrance {
    /// Origin of the pages there.
    origin: String,
    is_secure: bool,
}

impl Entrance {
    /// Returns the origin of the pages there.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    fn cookie(&self) -> &'static str {
        match self.is_secure {
            true => SECURE_COOKIE,
            false => LOOPBACK_COOKIE,
        }
    }

    /// Returns the token in the cookie of this address. None if there are several, because one of them is not ours.
    pub fn token(&self, headers: &HeaderMap) -> Option<SecretToken> {
        let mut values = cookies(headers).filter(|(name, _)| *name == self.cookie());
        let (_, value) = values.next()?;
        values.next().is_none().then(|| SecretToken::parse(value))?
    }

    /// Returns the value of `Set-Cookie` that keeps a session's token.
    pub fn set(&self, token: &SecretToken) -> Option<HeaderValue> {
        self.header(token.as_str(), SESSION_LASTS_US / 1_000_000)
    }

    /// Returns the value of `Set-Cookie` that removes the token.
    pub fn clear(&self) -> Option<HeaderValue> {
        self.header("", 0)
    }

    fn header(&self, value: &str, max_age_s: i64) -> Option<HeaderValue> {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let name = self.cookie();
        let text = format!("{name}={value}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Strict{secure}");
        let mut header = HeaderValue::from_str(&text).ok()?;
        header.set_sensitive(true);
        Some(header)
    }
}

/// Returns whether a request carries a session's cookie of any address.
pub fn has_cookie(headers: &HeaderMap) -> bool {
    cookies(headers).any(|(name, _)| name == SECURE_COOKIE || name == LOOPBACK_COOKIE)
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(header::COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    pairs.filter_map(|pair| pair.trim().split_once('='))
}

/// Returns the value of a header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entrance(public_url: &str, has_tls: bool, host: &str) -> Option<(String, bool)> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        let entrance = Site::new(public_url, has_tls).entrance(&Uri::from_static("/"), &headers)?;
        Some((entrance.origin, entrance.is_secure))
    }

    #[test]
    fn browsers_sign_in_at_the_public_https_address_and_at_loopback() {
        let (proxied, plain) = ("https://calls.example.com", "http://10.0.0.5:8080");
        for (public_url, has_tls, host, expected) in [
            (
                proxied,
                false,
                "calls.example.com",
                Some(("https://calls.example.com", true)),
            ),
            (
                proxied,
                false,
                "Calls.Example.com:443",
                Some(("https://calls.example.com", true)),
            ),
            (proxied, false, "127.0.0.1:8080", Some(("http://127.0.0.1:8080", false))),
            (proxied, false, "localhost", Some(("http://localhost", false))),
            (proxied, true, "[::1]:8443", Some(("https://[::1]:8443", true))),
            (proxied, false, "calls.example.com:8080", None),
            (proxied, false, "evil.example.com", None),
            (plain, false, "10.0.0.5:8080", None),
            (plain, false, "127.0.0.2:9", Some(("http://127.0.0.2:9", false))),
            (plain, true, "10.0.0.5:8080", None),
            (
                "https://10.0.0.5:8443",
                true,
                "10.0.0.5:8443",
                Some(("https://10.0.0.5:8443", true)),
            ),
            (plain, false, "localhost.evil.example.com", None),
            (plain, false, "localhost:80@evil.example.com", None),
            (plain, false, "evil@localhost", None),
            (plain, false, "localhost/x", None),
            (plain, false, "localhost?x", None),
            (plain, false, "localhost#x", None),
            (plain, false, "", None),
        ] {
            let expected = expected.map(|(origin, is_secure): (&str, bool)| (origin.to_owned(), is_secure));
            assert_eq!(
                entrance(public_url, has_tls, host),
                expected,
                "{public_url} {has_tls} {host}"
            );
        }
    }

    #[test]
    fn of_two_cookies_of_one_name_neither_counts() {
        let entrance = Entrance {
            origin: "https://a.example".into(),
            is_secure: true,
        };
        let token = SecretToken::random();
        let cookie = format!("{SECURE_COOKIE}={}", token.as_str());
        let read = |line: String| {
            let headers = HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(&line).unwrap())]);
            entrance.token(&headers)
        };
        assert_eq!(read(format!("x=1; {cookie} ;y")), Some(token.clone()));
        assert_eq!(read(format!("{cookie}; {cookie}")), None);
        assert_eq!(read(format!("{LOOPBACK_COOKIE}={}", token.as_str())), None);
    }
}
