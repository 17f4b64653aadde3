//! Sessions of browsers.

use serde_json::{Value, json};

use crate::access::session::{self, Session, SessionEnded, SignIn, SignedIn};
use crate::described::{operation::Operation, samples};

fn sample() -> Value {
    json!({
        "sessionId": samples::SESSION,
        "isPresent": true,
        "keyName": "account key",
        "scopes": ["read", "calls", "live", "write", "admin"],
        "createdAt": "2026-05-05T09:12:07.120000Z",
        "lastUsedAt": "2026-05-05T09:12:07.120000Z",
        "expiresAt": "2026-06-04T09:12:07.120000Z",
    })
}

/// Returns the operations of sessions.
pub fn operations() -> Vec<Operation> {
    let ended = json!({ "sessionId": samples::SESSION, "ended": true });
    vec![
        Operation::post("/public/v1/session", "signIn", "Sign a browser in")
            .keyless()
            .note(
                "Sets the session's cookie. Needs the header `Origin` with the service's own address, which must be HTTPS \
                 or loopback. A session has the scopes of its key and ends with it, 12 hours after its last request, or \
                 after 30 days. An account has at most 20 sessions; a further one ends the oldest.",
            )
            .body::<SignIn>(json!({
                "key": { "email": samples::EMAIL, "apiKey": "rb_q7XbV2dL_3f9c1d2e4b5a69788796a5b4c3d2e1f0" },
                "link": { "token": "5d1c0f7e9b3a48268f10c2d4e6a8b0c15d1c0f7e9b3a48268f10c2d4e6a8b0c1" },
            }))
            .created::<SignedIn>(json!({ "email": samples::EMAIL, "session": sample() }))
            .invalid("apiKey", "required", "is required")
            .fails(
                401,
                "unauthorized",
                "no account has this e-mail address and this API key, or the key has expired",
            )
            .fails(
                403,
                "forbidden",
                "a request that changes something with the session's cookie, or signs in, needs the header `Origin: \
                 https://calls.example.com`; a proxy in front must pass on `Host` as it came",
            )
            .fails(429, "rate_limited", "too many requests; try again in 6 s")
            .fails(503, "unavailable", "the database is not available; try again")
            .fails(503, "storage_full", "the database's disk is full: nothing can be stored until there is room; try again"),
        Operation::get("/public/v1/session", "listSessions", "List the account's sessions")
            .by(session::list)
            .note("Newest first, without those that have ended.")
            .paged()
            .page::<Session>(sample()),
        Operation::delete("/public/v1/session", "signOut", "Sign out")
            .by(session::sign_out)
            .note("Ends the session whose cookie the request carries, and removes the cookie.")
            .ok::<SessionEnded>(ended.clone()),
        Operation::delete("/public/v1/session/{sessionId}", "endSession", "End a session")
            .by(session::end)
            .note("Its cookie is refused at once, and its event streams end within seconds.")
            .ok::<SessionEnded>(ended),
    ]
}
