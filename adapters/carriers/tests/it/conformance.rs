//! The conformance suite of all carriers: each check is a separate test for each carrier.

mod ends;
pub mod inbound;
pub mod media;
pub mod midcall;
pub mod outcomes;

/// Creates a test of each check for a carrier, and for the checks that follow it.
macro_rules! tests_of {
    ($module:ident: $carrier:expr, $($suite:ident::$check:ident)*) => {
        mod $module {
            use crate::site::Carrier;

            $(
                #[tokio::test(start_paused = true)]
                async fn $check() {
                    super::$suite::$check($carrier).await;
                }
            )*
        }
    };
}

/// Lists the checks for all carriers, then those that some carriers cannot support.
macro_rules! conformance {
    ($module:ident: $carrier:expr $(, $suite:ident::$check:ident)*) => {
        tests_of!($module: $carrier,
            outcomes::a_campaign_completes_with_every_outcome_and_its_transcripts
            outcomes::repeated_and_reordered_reports_change_nothing
            outcomes::two_dozen_are_talked_with_get_messages_or_cannot_be_reached
            outcomes::a_lost_dial_answer_is_adopted_and_never_dialed_again
            ends::ending_a_call_ends_what_rings_and_what_talks
            ends::a_callee_who_hangs_up_ends_the_call
            ends::a_call_that_came_in_is_ended_by_us
            inbound::a_phone_that_calls_is_talked_with
            inbound::a_caller_who_leaves_ends_the_call
            media::lost_media_is_found_again_and_the_call_goes_on
            media::media_that_stands_still_is_outlived
            media::an_agent_that_is_interrupted_stops_and_keeps_what_was_heard
            midcall::a_caller_who_asks_for_a_person_is_handed_on_and_joined
            midcall::a_caller_whom_nobody_takes_has_the_agent_again
            midcall::nobody_is_rung_any_more_for_a_caller_who_left
            midcall::keys_of_the_agent_reach_the_phone
            midcall::keys_of_the_caller_are_words
            $($suite::$check)*
        );
    };
}

/// Adds the checks for carriers that announce calls and report their progress through webhooks.
macro_rules! conformance_of_webhooks {
    ($module:ident: $carrier:expr $(, $suite:ident::$check:ident)*) => {
        conformance!($module: $carrier,
            inbound::a_call_announced_twice_is_one_call_and_one_for_nobody_is_refused,
            inbound::a_call_for_which_no_line_is_free_is_busy,
            inbound::without_a_database_the_carrier_is_told_to_try_again,
            media::media_that_stands_still_too_long_is_found_again,
            midcall::what_cannot_be_done_to_a_call_is_told
            $(, $suite::$check)*
        );
    };
}

conformance_of_webhooks!(twilio: Carrier::Twilio);
conformance_of_webhooks!(signalwire: Carrier::SignalWire);
conformance_of_webhooks!(
    telnyx: Carrier::Telnyx,
    outcomes::a_call_nobody_tells_of_is_found_and_hung_up,
    outcomes::calls_are_listed_and_hung_up_once
);
conformance_of_webhooks!(
    vonage: Carrier::Vonage,
    outcomes::a_call_nobody_tells_of_is_found_and_hung_up,
    outcomes::calls_are_listed_and_hung_up_once
);
conformance!(asterisk: Carrier::AsteriskWebSocket, outcomes::calls_are_listed_and_hung_up_once);
conformance!(audiosocket: Carrier::AudioSocket);
