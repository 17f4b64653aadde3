//! Our marks on a Telnyx call. `client_state` contains the attempt and returns with every webhook and list,
//! also for transfer destinations. A token authenticates the call's media socket. Pure.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use domain::id::AttemptId;

use super::account::NAME;
use crate::webhooks::{StreamTokens, stream_tokens::Form};

/// Returns the `client_state` of a call placed for this attempt.
pub fn client_state(attempt: AttemptId) -> String {
    BASE64.encode(attempt.to_string())
}

fn text(client_state: &str) -> Option<String> {
    String::from_utf8(BASE64.decode(client_state).ok()?).ok()
}

/// Parses the attempt of a call's own `client_state`. Returns `None` if it is a destination's or not ours.
pub fn attempt(client_state: &str) -> Option<AttemptId> {
    text(client_state)?.parse().ok()
}

/// Returns the `client_state` of a transfer destination, with the number of the try.
pub fn destination_state(attempt: AttemptId, try_no: u32) -> String {
    BASE64.encode(format!("to {attempt} {try_no}"))
}

/// Parses a destination's `client_state` into its attempt and the number of the try.
pub fn destination(client_state: &str) -> Option<(AttemptId, u32)> {
    let text = text(client_state)?;
    let (attempt, try_no) = text.strip_prefix("to ")?.split_once(' ')?;
    Some((attempt.parse().ok()?, try_no.parse().ok()?))
}

/// Returns the tokens that Telnyx presents when it opens a media socket (`stream_auth_token`).
pub fn stream_tokens(api_key: &str) -> StreamTokens {
    StreamTokens::new(NAME, Form::Hex, api_key)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_client_state_names_its_attempt() {
        let id = AttemptId::new();
        assert_eq!(attempt(&client_state(id)), Some(id));
        for foreign in ["", "aGF2ZSBhIG5pY2UgZGF5ID1d", "****", "/w=="] {
            assert_eq!(attempt(foreign), None, "{foreign}");
            assert_eq!(destination(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn a_destination_is_no_call_of_its_own() {
        let id = AttemptId::new();
        let state = destination_state(id, 2);
        assert_eq!((destination(&state), attempt(&state)), (Some((id, 2)), None));
        assert_eq!(destination(&client_state(id)), None);
        for wrong in [
            format!("to {id}"),
            format!("to {id} -1"),
            "to x 1".to_owned(),
            format!("{id} 1"),
        ] {
            assert_eq!(destination(&BASE64.encode(&wrong)), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_shown_makes_it_panic(shown in "\\PC{0,80}") {
            let _ = (attempt(&shown), destination(&shown));
        }
    }
}
