//! Required behaviour of every store, as one suite: run it with [`store_conformance!`](crate::store_conformance).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a check fails by panicking and its name says what it checks"
)]

mod account_events;
mod account_settings;
mod agent_versions;
mod analytics;
mod api_keys;
mod appointments;
mod attempts;
mod callees;
mod calls;
mod calls_in_progress;
mod campaign_reads;
mod campaigns;
mod concurrency;
mod deliveries;
mod directory;
mod edits;
mod erasure;
mod fixture;
mod idempotency;
mod inbound;
mod knowledge;
mod more_to_dial;
mod nodes;
mod orphaned;
mod passed_over;
mod permits;
mod records;
mod refusals;
mod returned;
mod returns;
mod safeguards;
mod search;
mod sessions;
mod test_calls;
mod tools;
mod transfer_rules;
mod webhooks;

pub use account_events::*;
pub use account_settings::*;
pub use agent_versions::*;
pub use analytics::*;
pub use api_keys::*;
pub use appointments::*;
pub use attempts::*;
pub use callees::*;
pub use calls::*;
pub use calls_in_progress::*;
pub use campaign_reads::*;
pub use campaigns::*;
pub use concurrency::*;
pub use deliveries::*;
pub use directory::*;
pub use edits::*;
pub use erasure::*;
pub use fixture::*;
pub use idempotency::*;
pub use inbound::*;
pub use knowledge::*;
pub use more_to_dial::*;
pub use nodes::*;
pub use orphaned::*;
pub use passed_over::*;
pub use permits::*;
pub use records::*;
pub use refusals::*;
pub use returned::*;
pub use returns::*;
pub use safeguards::*;
pub use search::*;
pub use sessions::*;
pub use test_calls::*;
pub use tools::*;
pub use transfer_rules::*;
pub use webhooks::*;

/// Creates one test for each check: `store_conformance!(fixture)`, where `async fn fixture() -> (Fixture,
/// impl Sized)` opens an empty store. The second value is dropped after the check. Further tokens are
/// settings of the tests, such as `flavor = "multi_thread"`. With `in_turn` it creates no tests but `async fn
/// every_check()`, for a store that takes long to set up.
#[macro_export]
macro_rules! store_conformance {
    ($fixture:path $(, $($setting:tt)*)?) => {
        $crate::store_conformance_checks! { $fixture; [$($($setting)*)?];
            accounts_have_unique_addresses
            keys_are_found_by_prefix_and_replaced_at_once
            added_keys_have_scopes_and_outlive_a_replacement
            an_added_key_is_changed_and_deleted_by_its_account
            the_use_of_a_key_is_recorded_once_a_minute
            an_account_has_a_limited_number_of_keys
            a_session_has_the_rights_of_its_key_as_it_is_now
            a_session_ends_when_it_is_idle_or_old_and_stays_so
            a_session_is_ended_by_its_account_alone
            a_replaced_or_deleted_key_ends_the_other_sessions
            an_account_has_a_limited_number_of_sessions
            a_login_link_opens_one_session_within_its_time
            the_first_accounts_are_told
            agents_are_versioned_and_belong_to_their_account
            each_save_of_an_agent_is_a_version
            the_newest_versions_of_an_agent_are_kept
            agents_are_found_by_a_part_of_their_name_in_any_case
            contacts_are_unique_by_number_until_deleted
            rows_of_an_unknown_account_are_not_found
            agents_are_found_by_a_tag_of_theirs_and_by_nothing_like_it
            agents_are_listed_newest_first_without_gap_or_repeat
            an_agent_in_use_is_not_deleted
            a_number_has_one_owner_and_one_agent_that_answers
            the_uses_of_numbers_are_those_of_the_account
            contacts_are_found_and_listed_newest_first
            a_contact_is_changed_under_its_version
            the_do_not_call_list_is_read_and_shortened
            a_replaced_secret_is_valid_for_a_day
            settings_replace_only_those_that_were_read
            an_erased_person_leaves_anonymous_rows
            nothing_is_erased_while_a_call_goes_on
            an_erased_place_in_a_campaign_is_never_dialed
            words_of_old_calls_are_erased_and_their_rows_stay
            a_settled_key_answers_what_was_made
            a_key_belongs_to_one_request_of_one_account
            a_failure_frees_its_key_and_a_success_keeps_it
            a_key_whose_request_died_is_free_after_its_lease
            a_settled_key_is_kept_for_a_day
            a_key_is_reserved_once_at_a_time
            a_document_keeps_its_text_apart
            documents_are_searched_and_sorted
            documents_page_without_gap_or_repeat
            a_group_keeps_its_documents_in_order
            known_ids_are_those_of_the_account
            what_is_held_is_not_deleted
            a_deleted_agent_lets_go_of_what_it_held
            an_agent_takes_hold_only_of_what_is_there
            a_refused_delete_names_a_few_holders
            a_tools_name_is_its_accounts_own
            tools_are_listed_newest_first
            a_tool_that_an_agent_holds_is_not_deleted
            a_transfer_rule_belongs_to_its_account_and_is_changed_under_its_version
            transfer_rules_are_listed_newest_first
            a_transfer_rule_that_an_agent_holds_is_not_deleted
            calls_get_an_agents_transfer_rules_after_its_own_transfers
            an_import_is_seen_by_no_reader_until_it_is_finished
            contacts_keep_their_order_and_fields
            a_large_import_is_whole
            abandoned_imports_are_swept
            added_contacts_are_claimed_once_each_and_no_number_comes_twice
            added_contacts_wake_a_campaign_that_has_an_end
            contacts_are_called_again_once_after_their_final_outcome
            recent_dials_are_counted
            creation_times_are_unique_in_an_account
            campaigns_are_listed_newest_first_and_filtered
            a_page_of_results_is_in_order_with_each_last_attempt
            changes_of_conversations_are_read_in_their_order
            saved_contacts_are_found_by_number_and_by_id
            a_change_of_state_needs_the_present_version
            active_campaigns_are_those_a_node_takes_up
            an_edit_changes_what_it_names_and_needs_the_present_version
            replaced_contacts_are_dialed_from_the_first
            another_accounts_import_is_not_taken
            a_removed_campaign_is_in_no_read_and_its_calls_are
            no_permit_is_given_after_the_window_closed
            a_next_attempt_is_planned_with_the_outcome
            nothing_is_planned_in_a_campaign_that_was_stopped
            waiting_attempts_go_to_the_campaigns_new_agent
            claims_go_through_the_contacts_in_order
            a_claim_brings_the_saved_contacts_fields
            only_a_running_campaign_is_claimed_from
            many_claimers_get_every_contact_once
            released_contacts_are_as_if_never_claimed
            stale_claims_are_the_nodes_own_old_and_unsent_ones
            unsettled_attempts_are_the_nodes_own_old_and_sent_ones
            a_claim_is_fenced_by_owner_and_epoch
            a_finished_attempt_takes_no_further_write
            the_state_only_moves_forward
            a_call_has_its_own_times_however_late_they_are_written
            an_end_that_is_written_late_is_a_change_of_that_time
            times_that_cannot_be_are_bounded
            a_carrier_call_belongs_to_one_attempt
            an_unsent_attempt_waits_and_is_claimed_again
            progress_and_remaining_add_up
            a_stop_cancels_what_waits
            a_stop_leaves_nothing_of_what_it_found_claimed
            a_permit_is_given_once_with_its_token
            a_permit_is_refused_when_the_campaign_stopped
            a_permit_is_refused_for_do_not_call
            a_permit_is_refused_for_a_restricted_prefix
            numbers_that_nobody_dials_are_refused_before_a_claim
            a_refused_contact_has_a_cancelled_conversation
            a_retry_of_a_number_that_was_listed_since_is_refused
            nothing_is_refused_while_a_campaign_is_paused
            numbers_of_an_earlier_rule_are_found_on_the_list_and_end_if_nobody_has_them
            a_number_is_called_by_one_attempt_at_a_time
            both_spellings_of_a_number_are_one_number
            concurrent_permits_call_a_number_once
            caller_ids_take_turns_by_the_agents_permits
            concurrent_permits_share_the_turns_evenly
            the_dial_token_lasts_as_long_as_the_call
            a_node_tells_the_others_where_it_is
            the_owner_of_an_open_attempt_is_known
            claims_that_were_lost_are_told
            a_campaigns_calls_at_once_are_counted_over_all_nodes
            a_stop_that_hangs_up_is_told_to_every_node
            all_nodes_share_one_secret
            safeguards_are_off_until_they_are_set_under_their_version
            a_destination_that_is_not_allowed_fails_for_good
            the_opt_out_and_a_busy_number_come_before_safeguards
            outside_the_callees_hours_an_attempt_waits_and_uses_up_none
            what_a_safeguard_put_off_is_due_when_the_rules_change
            what_waits_for_something_else_is_not_hurried_by_safeguards
            a_campaign_looks_again_when_one_of_its_waiting_attempts_is_cancelled
            a_number_waits_until_its_counts_allow_it
            calls_from_outside_and_unsent_permits_count_for_nobody
            the_days_calls_end_and_begin_again_at_midnight
            a_single_call_waits_for_safeguards_no_longer_than_it_may
            concurrent_permits_keep_to_the_counts
            a_new_node_declares_earlier_ones_dead
            orphaned_attempts_go_to_the_new_node
            what_a_node_left_that_signed_off_is_taken_at_once
            calls_of_the_dead_are_left_to_their_carrier_for_a_while
            a_live_call_goes_to_the_node_that_it_was_brought_to
            a_call_that_was_brought_back_goes_to_one_node_and_only_while_it_lives
            what_a_call_collects_is_kept_while_it_lasts
            single_calls_and_calls_from_outside_are_taken_over_too
            a_call_keeps_the_person_as_at_its_start
            a_call_that_was_not_sent_keeps_the_person_of_its_next_dial
            the_fields_of_a_call_are_limited
            a_call_is_found_by_its_person_until_that_is_erased
            an_old_single_call_leaves_nothing_of_its_request
            a_single_call_is_queued_and_goes_its_way
            a_single_call_brings_the_saved_contacts_fields
            a_single_call_is_not_queued_for_do_not_call_or_an_unknown_agent
            a_single_call_settles_its_idempotency_key
            a_single_call_given_back_waits_again
            the_permit_checks_a_single_call
            the_longest_waiting_single_calls_are_claimed_first
            a_single_call_that_waited_too_long_fails
            a_single_calls_retry_has_what_the_call_had
            what_waits_can_be_cancelled
            a_dead_nodes_single_calls_are_taken_up
            a_call_from_outside_goes_its_way
            a_leg_becomes_one_attempt
            only_the_agent_that_answers_receives_a_call
            a_call_from_outside_is_taken_over_and_never_queued
            a_node_that_is_not_known_to_live_receives_nothing
            a_saved_caller_is_known_and_erased
            a_withheld_number_is_nobodys
            an_agent_asked_for_by_its_id_needs_no_number
            who_is_on_the_line_is_not_dialed
            nothing_follows_from_a_test_call
            a_test_of_an_agent_that_is_not_saved_leaves_no_agent
            turns_are_written_once_and_read_in_order
            the_last_event_of_a_name_is_found
            events_are_read_by_name_in_order_and_in_pages
            a_conversation_follows_its_attempt
            every_end_of_an_attempt_keeps_its_agents_issue_tracking
            calls_in_progress_are_listed_with_names_and_operator
            calls_in_progress_page_without_gap_or_repeat
            conversations_are_filtered
            conversations_page_without_gap_or_repeat
            noted_calls_are_found_by_their_words
            conversations_are_sorted_and_counted
            rare_conversations_are_found_by_every_filter
            what_is_erased_or_said_later_changes_what_is_found
            a_deleted_conversation_is_read_by_nobody_and_counts
            no_query_breaks_the_index
            ended_calls_are_counted_once_in_every_group
            a_call_is_counted_after_its_analysis_or_an_hour
            two_counters_count_each_call_once
            counts_outlive_the_call_and_not_the_other_way_round
            an_answered_call_is_analysed_once
            an_analysis_waits_for_facts_that_follow_the_outcome
            turns_that_come_late_are_analysed_too
            a_leased_job_comes_back_and_fences_its_first_holder
            an_analysis_keeps_values_on_the_saved_contact
            a_failed_job_is_put_off
            a_store_answers_a_ping
            a_call_that_ends_makes_what_its_agent_asks_for
            every_end_of_an_attempt_is_delivered
            a_delivery_whose_holder_died_comes_back_unchanged
            a_failed_delivery_waits_and_is_given_up_in_the_end
            lanes_are_picked_apart_and_tell_how_they_stand
            first_tries_may_wait_while_others_do_not
            a_lane_waits_as_long_as_its_receiver_wished
            an_address_that_is_gone_gets_nothing_until_its_agent_is_saved_again
            deliveries_that_are_over_are_forgotten_piece_by_piece
            a_delivery_tells_of_the_person_as_the_call_knew_them
            an_appointment_is_made_once_for_a_time_of_a_call
            a_booking_whose_holder_died_comes_back_and_fences_it
            a_time_is_one_calls_until_the_calendar_shows_it
            a_call_makes_few_appointments
            an_invitation_is_made_with_the_mail_that_brings_it
            booked_appointments_are_listed_by_start_in_pages
            an_erased_person_has_no_appointments
            account_events_tell_of_every_change_once_and_in_order
            account_events_are_signalled_when_they_are_written_and_published
            an_opt_out_names_its_call_and_contact
            a_reader_goes_on_after_its_place_even_if_the_event_was_forgotten
            events_written_at_once_are_read_in_one_order_without_gap
            events_of_an_erased_person_are_deleted
            events_and_erased_calls_have_only_the_kind_of_an_error
            a_webhook_belongs_to_its_account_and_is_changed_under_its_version
            events_go_to_the_webhooks_that_want_them
            a_webhook_gets_no_event_from_before_it_was_enabled_or_its_types_changed
            a_webhooks_delivery_is_sent_again_and_a_test_has_no_event
            a_webhook_that_is_gone_is_disabled
            a_test_a_resend_and_a_new_address_end_the_pause_of_a_webhook
            a_replaced_secret_of_a_webhook_is_valid_for_a_day
            campaigns_made_at_once_have_creation_times_of_their_own
            one_of_many_changes_of_an_agent_wins
            a_number_is_saved_by_one_of_many
            after_a_stop_nothing_more_is_claimed_or_dialed
            the_third_unknown_refusal_in_a_row_delays_a_campaign_whoever_dialed
            unknown_refusals_are_in_a_row_only_if_they_are_alike_and_no_call_gets_through
            a_number_is_not_called_once_it_is_on_the_list
        }
    };
}

/// The loop of [`store_conformance!`](crate::store_conformance).
#[doc(hidden)]
#[macro_export]
macro_rules! store_conformance_checks {
    ($fixture:path; [in_turn]; $($check:ident)*) => {
        /// Runs all checks in order, and panics at the end if one failed.
        pub async fn every_check() {
            let mut failed: Vec<&str> = Vec::new();
            $(
                eprintln!("{}", stringify!($check));
                let (fixture, _guard) = $fixture().await;
                let check = tokio::spawn($crate::store_conformance::$check(fixture));
                if check.await.is_err() {
                    failed.push(stringify!($check));
                }
            )*
            assert!(failed.is_empty(), "{failed:?}");
        }
    };
    ($fixture:path; $settings:tt; $($check:ident)*) => {
        $($crate::store_conformance_checks! { @one $fixture; $settings; $check })*
    };
    (@one $fixture:path; [$($setting:tt)*]; $check:ident) => {
        #[tokio::test($($setting)*)]
        async fn $check() {
            let (fixture, _guard) = $fixture().await;
            $crate::store_conformance::$check(fixture).await;
        }
    };
}
