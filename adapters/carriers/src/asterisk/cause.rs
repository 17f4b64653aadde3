//! Meaning of a channel's end: its cause (Q.850, as in Asterisk's `causes.h`), the SIP status behind it, and
//! the last dial status. Pure.

use domain::ports::carrier::EndCause;

use crate::http::words::plain_words;

/// Cause of a channel's end, as reported by Asterisk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gone {
    /// Cause code; 0 for none.
    pub cause: u64,
    /// Text of the cause.
    pub words: String,
    /// Status of the technology, such as a SIP status.
    pub technical: Option<u64>,
}

impl Gone {
    /// Returns a cause for a channel whose end was missed.
    pub fn unseen() -> Self {
        Self {
            words: "its end was missed while Asterisk's events could not be heard".to_owned(),
            ..Self::default()
        }
    }

    /// Returns cause and text together.
    pub fn said(&self, dial_status: &str) -> String {
        let mut said = match (&*self.words, self.cause) {
            ("", 0) => "no cause".to_owned(),
            ("", cause) => format!("cause {cause}"),
            (words, 0) => words.to_owned(),
            (words, cause) => format!("{words}, cause {cause}"),
        };
        if let Some(technical) = self.technical {
            said = format!("{said}, SIP {technical}");
        }
        if !dial_status.is_empty() {
            said = format!("{said}, {dial_status}");
        }
        plain_words(&said)
    }
}

/// Returns the end cause of a call that was not answered and not hung up by us.
pub fn unanswered(gone: &Gone, dial_status: &str) -> EndCause {
    let failed = || EndCause::Failed(gone.said(dial_status));
    // Asterisk also reports "call rejected" if a trunk refuses to let *us* call.
    if matches!(gone.technical, Some(401 | 402 | 403 | 405 | 407)) {
        return failed();
    }
    match gone.cause {
        17 => EndCause::Busy,
        18..=20 => EndCause::NoAnswer,
        21 => EndCause::Rejected,
        1 | 22 | 28 => EndCause::InvalidNumber,
        // No cause, "normal clearing" and "normal, unspecified" do not explain why a call was not answered.
        0 | 16 | 31 => match dial_status {
            "BUSY" => EndCause::Busy,
            "NOANSWER" => EndCause::NoAnswer,
            _ => failed(),
        },
        _ => failed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(cause: u64, technical: Option<u64>) -> Gone {
        Gone {
            cause,
            words: "words".to_owned(),
            technical,
        }
    }

    #[test]
    fn every_cause_of_an_unanswered_call_has_its_meaning() {
        for (cause, technical, status, meaning) in [
            (17, Some(486), "BUSY", EndCause::Busy),
            (18, Some(408), "NOANSWER", EndCause::NoAnswer),
            (19, Some(480), "", EndCause::NoAnswer),
            (20, None, "CHANUNAVAIL", EndCause::NoAnswer),
            (21, Some(603), "CONGESTION", EndCause::Rejected),
            (1, Some(404), "CONGESTION", EndCause::InvalidNumber),
            (22, Some(410), "", EndCause::InvalidNumber),
            (28, Some(484), "", EndCause::InvalidNumber),
            // The dial's ring time has ended.
            (0, None, "NOANSWER", EndCause::NoAnswer),
            (16, None, "NOANSWER", EndCause::NoAnswer),
            (31, None, "BUSY", EndCause::Busy),
        ] {
            assert_eq!(unanswered(&gone(cause, technical), status), meaning, "{cause} {status}");
        }
    }

    #[test]
    fn what_is_no_answer_of_the_callee_is_a_failure_with_its_words() {
        for (cause, technical, status, words) in [
            (21, Some(403), "CONGESTION", "words, cause 21, SIP 403, CONGESTION"),
            (21, Some(401), "", "words, cause 21, SIP 401"),
            (34, None, "CONGESTION", "words, cause 34, CONGESTION"),
            (38, None, "", "words, cause 38"),
            (3, None, "", "words, cause 3"),
            (16, None, "CANCEL", "words, cause 16, CANCEL"),
        ] {
            let meaning = unanswered(&gone(cause, technical), status);
            assert_eq!(meaning, EndCause::Failed(words.to_owned()));
        }
        assert_eq!(
            unanswered(&Gone::default(), ""),
            EndCause::Failed("no cause".to_owned())
        );
        let EndCause::Failed(words) = unanswered(&Gone::unseen(), "") else {
            unreachable!("an end nobody saw is a failure");
        };
        assert!(words.contains("missed"), "{words}");
    }
}
