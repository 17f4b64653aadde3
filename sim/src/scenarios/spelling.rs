//! Numbers, addresses and codes given piece by piece, with gaps in which nobody may interrupt.

use super::{
    Scenario,
    common::{BYE, DONE, HELLO, greeted, parts},
    setup::{Question, Setup},
};

const ASKS_PHONE: &str = "agent: Hello, this is Ava from Greenfield Dental. What is your phone number?";
const ASKS_EMAIL: &str = "agent: Hello, this is Ava from Greenfield Dental. What is your e-mail address?";
const ASKS_CODE: &str = "agent: Hello, this is Ava from Greenfield Dental. What is your booking code?";

fn spelled(
    name: &'static str,
    setup: Setup,
    gap_ms: u64,
    groups: &[&str],
    expect: &'static [&'static str],
) -> Scenario {
    Scenario::new(name, setup, greeted([parts(gap_ms, groups)]), expect)
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let phone = || Setup::asking(&[Question::Phone]);
    let email = || Setup::asking(&[Question::Email]);
    let code = || Setup::asking(&[Question::Code]);
    vec![
        spelled(
            "phone-groups-700",
            phone(),
            700,
            &["555", "0142", "88"],
            &[HELLO, ASKS_PHONE, "user: 555 0142 88", BYE, DONE],
        ),
        spelled(
            "phone-groups-1000",
            phone(),
            1_000,
            &["It's 555", "0142", "88"],
            &[HELLO, ASKS_PHONE, "user: It's 555 0142 88", BYE, DONE],
        ),
        spelled(
            "phone-groups-1400",
            phone(),
            1_400,
            &["555", "01 42", "88"],
            &[HELLO, ASKS_PHONE, "user: 555 01 42 88", BYE, DONE],
        ),
        spelled(
            "phone-in-words",
            phone(),
            900,
            &["five five five", "zero one", "four two"],
            &[HELLO, ASKS_PHONE, "user: five five five zero one four two", BYE, DONE],
        ),
        spelled(
            "phone-eager",
            phone().eager(),
            800,
            &["555", "0142", "88"],
            &[HELLO, ASKS_PHONE, "user: 555 0142 88", BYE, DONE],
        ),
        spelled(
            "phone-patience-off",
            phone().impatient_with_spelling(),
            300,
            &["555", "0142", "88"],
            &[HELLO, ASKS_PHONE, "user: 555 0142 88", BYE, DONE],
        ),
        spelled(
            "email-letters",
            email(),
            800,
            &["m a r", "i a", "at example dot com"],
            &[HELLO, ASKS_EMAIL, "user: m a r i a at example dot com", BYE, DONE],
        ),
        spelled(
            "email-parts",
            email(),
            1_000,
            &["It's maria dot", "miller at", "example.com"],
            &[
                HELLO,
                ASKS_EMAIL,
                "user: It's maria dot miller at example.com",
                BYE,
                DONE,
            ],
        ),
        spelled(
            "phone-long-gaps-eager",
            phone().eager(),
            1_700,
            &["My number is 823", "151", "9126"],
            &[HELLO, ASKS_PHONE, "user: My number is 823 151 9126", BYE, DONE],
        ),
        spelled(
            "phone-long-gaps-patient",
            phone().patient(),
            1_700,
            &["My number is 823", "151", "9126"],
            &[HELLO, ASKS_PHONE, "user: My number is 823 151 9126", BYE, DONE],
        ),
        spelled(
            "code-groups",
            code(),
            900,
            &["B 7", "K 4", "9 Q"],
            &[HELLO, ASKS_CODE, "user: B 7 K 4 9 Q", BYE, DONE],
        ),
    ]
}
