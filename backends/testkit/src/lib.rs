//! The conformance suite that every elect store passes, and tools that elect's tests share.
//!
//! One line in a store's tests runs the whole suite on it. The line names an `async fn` that
//! creates a [`Bench`] with the [`Servers`] that a law needs:
//!
//! ```text
//! elect_testkit::conformance!(bench);
//! ```
//!
//! Only this crate has the list of laws, so a new law reaches every store by itself.

#![allow(clippy::missing_panics_doc, reason = "to panic is how what is here fails a test")]

mod bench;
mod clock;
mod contender;
mod entry;
mod environment;
pub mod fault;
pub mod laws;
pub mod oracle;
pub mod program;
mod run;
pub mod servers;
pub mod sim;
pub mod switches;
pub mod table;
pub mod terminal;

pub use bench::{Bench, Servers, Shared, Stall};
pub use contender::{
    Contender, LineUp, cell, done, election, expect_empty, expect_led_by, line_up, order,
};
pub use environment::environment;
pub use run::{apart, poll_n, poll_n_eagerly, run};

/// Expands to one test for each aspect of each law of `elect_api`, each on its own bench.
///
/// The argument is the path of a function `async fn(Servers) -> impl Bench`.
#[macro_export]
macro_rules! conformance {
    ($bench:path) => {
        $crate::conformance! { @each $bench, Shared:
            // Law 2: idempotent proof. Law 4: a wake is a hint.
            a_lone_candidate_leads_at_once
            a_leader_stays_leader_with_the_same_token
            a_waiter_keeps_its_place_however_often_it_asks
            wakes_may_be_dropped_or_ignored
            a_leader_whose_entry_was_removed_finds_out
            a_waiter_whose_entry_was_removed_enters_anew_at_the_end
            only_a_leader_holds_the_lease
            // Law 3: ambiguity.
            a_refresh_cut_anywhere_leaves_one_entry
            a_resign_after_a_cut_refresh_leaves_nothing
            a_leaders_refresh_cut_anywhere_keeps_the_lease
            a_resign_cut_anywhere_may_be_repeated
            // Law 5: tokens rise.
            tokens_rise_from_leader_to_leader
            tokens_rise_when_one_seat_leads_again
            tokens_rise_when_leaders_crash
            tokens_rise_when_the_election_is_made_anew
            // Law 6: order.
            first_come_is_first_served
            one_change_wakes_one_waiter
            a_waiter_that_crashes_leaves_the_order_as_it_is
            a_waiter_that_resigns_leaves_the_order_as_it_is
            a_leader_that_crashes_is_followed_by_the_next
            several_that_crash_at_once_are_passed_over
            // Law 7: resigning.
            the_next_leads_at_once_after_a_resign
            a_waiter_that_resigns_leaves_no_entry
            resigning_removes_no_other_candidates_entry
            resigning_twice_or_before_entering_does_no_harm
            a_candidate_that_resigned_returns_as_a_newcomer
            a_ticket_frees_a_leaders_place_at_once
            a_ticket_frees_a_waiters_place_at_once
            a_ticket_is_there_before_its_entry_and_for_that_one_only
            a_ticket_redeemed_early_harms_no_other_candidate
            a_late_ticket_removes_no_candidate
            a_ticket_catches_an_entry_that_is_being_made
            // Law 8: expiry.
            a_lease_that_is_not_renewed_ends_after_its_ttl
            a_lease_that_is_renewed_is_not_over
            an_old_leader_is_gone_after_its_lease
            a_proof_counts_from_before_its_request
            a_proof_after_a_lost_reply_is_no_older_one
            a_waiter_that_asks_no_more_is_passed_over
            a_leader_that_renews_its_lease_is_known_to_live
            no_newcomer_is_told_that_a_dead_leader_lives
            // Law 9: a survey disturbs no candidate.
            an_election_without_entries_is_empty
            a_survey_shows_candidates_as_they_described_themselves
            a_survey_shows_clean_texts_only
            a_survey_tells_token_and_times
            a_survey_tells_how_long_ago_the_lease_was_renewed
            surveys_disturb_no_candidate
            elections_are_listed_by_name
            elections_are_independent
            each_change_wakes_a_watcher
            a_leaders_cell_wakes_a_watcher
            watching_for_changes_disturbs_no_candidate
            // Law 10: cells that only a leader writes.
            a_leaders_cell_is_there_for_later_clients
            only_the_leader_writes_a_leaders_cell
            a_leaders_cell_is_no_entry
            each_election_has_its_own_cells
            a_new_cell_wakes_all_clients_that_read_the_last
            a_leaders_cell_may_be_long
            a_leaders_cell_cut_anywhere_may_be_written_again
            each_leaders_cell_is_another
            a_reader_that_is_no_candidate_reads_a_cell_and_creates_nothing
            last_words_are_there_for_the_next_leader
            a_candidate_that_does_not_lead_writes_no_last_words
            last_words_are_written_as_the_entry_goes
            // Law 11: the control cell reaches all candidates.
            a_control_cell_may_be_written_before_any_candidate_enters
            elections_with_a_control_cell_are_listed_by_name
            a_control_cell_that_was_overtaken_is_not_written
            the_changes_of_many_writers_are_all_written
            a_refresh_brings_the_control_cell_of_before_it
            a_write_of_the_control_cell_wakes_every_candidate
            one_change_wakes_one_waiter_where_there_is_a_control_cell
            a_write_of_the_control_cell_wakes_a_watcher
            a_control_cell_is_neither_an_entry_nor_a_cell_of_a_leader
            each_election_has_its_own_control_cell
            a_control_cell_may_be_long
            an_order_cut_anywhere_may_be_written_again
            // Law 12: an examination changes nothing.
            an_examination_disturbs_no_candidate
            an_examination_leaves_nothing
            // Law 13: a removal hits exactly one entry.
            a_removed_leader_is_out_and_the_next_leads
            a_late_removal_removes_no_candidate
            a_removal_cut_anywhere_may_be_repeated
            an_entry_is_over_when_the_store_has_said
            // Law 14: a fence refuses smaller tokens.
            a_fence_refuses_smaller_tokens
            fences_at_the_same_time_refuse_smaller_tokens
            a_fence_is_no_entry_and_outlasts_all
            each_resource_of_each_election_has_its_own_fence
            a_fence_cut_anywhere_may_be_passed_again
            // Law 15: a value is written under the leader's token, by any client.
            a_value_is_there_for_later_clients
            only_the_token_of_the_leader_writes_a_value
            a_put_that_stood_still_writes_nothing_under_another_leader
            values_of_many_writers_of_one_leader_are_all_written
            a_value_is_no_entry
            each_key_of_each_election_has_its_own_value
            a_value_may_be_long
            a_value_cut_anywhere_may_be_written_again
            // Law 16: the seats of one store share a session, and nothing else.
            seats_of_one_store_lead_apart
            one_of_several_seats_resigns_alone
            a_ticket_of_one_of_several_seats_frees_that_one_alone
            a_dropped_refresh_of_one_of_several_seats_leaves_nothing
            a_seat_that_stops_asking_loses_its_place_while_others_go_on
            several_seats_that_crash_together_are_followed
            // How an election is forgotten.
            a_forgotten_control_cell_is_gone
            forgotten_fences_and_values_are_gone
            an_election_with_a_fence_is_not_forgotten_unless_that_may_go
            no_fence_is_lost_that_is_set_as_its_election_is_forgotten
            an_election_with_candidates_is_not_forgotten
            a_forgotten_election_is_as_if_never_entered
            a_scratch_election_goes_once_it_is_empty
            // All laws at once.
            contenders_lead_one_at_a_time_with_rising_tokens
            newcomers_and_crashes_in_a_crowd_stop_no_candidate
        }
        $crate::conformance! { @each $bench, Own:
            // The same laws while the store stalls.
            a_refresh_dropped_while_the_store_stalls_leaves_one_entry
            a_candidate_that_dies_in_a_stalled_refresh_blocks_no_other
            a_slow_store_does_not_lengthen_a_lease
            an_examination_of_a_store_that_stalls_comes_back
            a_stalled_refresh_of_one_of_several_seats_leaves_nothing
        }
    };
    (@each $bench:path, $servers:ident: $($law:ident)*) => {
        $(
            #[test]
            fn $law() {
                $crate::run(stringify!($law), async {
                    let bench = $bench($crate::Servers::$servers).await;
                    $crate::laws::$law(::std::sync::Arc::new(bench)).await;
                });
            }
        )*
    };
}
