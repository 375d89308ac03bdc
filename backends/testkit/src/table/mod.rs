//! The laws of a [`Table`], which each store of rows proves on its own server.
//!
//! One line in a store's tests runs them. It names an `async fn` that creates a [`Ground`] with the
//! [`Servers`](crate::Servers) that a law needs, and the abilities of the ground:
//!
//! ```text
//! elect_testkit::table_laws!(ground: tells, fails, loses, denies);
//! ```
//!
//! | ability | what has it |
//! |---|---|
//! | `tells` | a table that [tells](Table::tells) of changes |
//! | `loses` | a table that [may lose](Table::may_lose) writes; the ground has [`Ground::lose`] |
//! | `fails` | the ground has [`Ground::cut`] and [`Ground::silence`] |
//! | `denies` | the ground has [`Ground::connect_as`] |
//!
//! A table that tells or may lose writes fails if the line does not say so.

pub mod by_hand;
mod client;
mod database;
mod faults;
mod losses;
mod notices;
mod ranges;
mod rights;
mod rows;

use async_trait::async_trait;
use elect_api::Cell;
use elect_record::table::{Range, Table};

pub use self::database::{DatabaseBench, DatabaseGround, refused};
pub use self::faults::*;
pub use self::losses::*;
pub use self::notices::*;
pub use self::ranges::*;
pub use self::rights::*;
pub use self::rows::*;
use crate::servers::Rights;
use crate::{Stall, poll_n_eagerly};

/// The access to a store of rows that the laws need beyond [`Table`].
///
/// Each test has its own ground, whose rows no other test sees. Grounds may share a server. The laws use the methods
/// after [`Ground::connect`] only if the ground has the ability, and with servers of its own.
#[async_trait]
pub trait Ground: Send + Sync {
    /// Opens a new connection to the rows, as another process on another machine would.
    async fn connect(&self) -> Box<dyn Table>;

    /// The longest body that the store has to take, in bytes: one cell of control characters alone as JSON.
    fn longest(&self) -> usize {
        6 * Cell::LONGEST
    }

    /// Ends all connections, and refuses new ones until this is dropped. When this returns the connections have ended.
    async fn cut(&self) -> Stall {
        lacks("cut")
    }

    /// Holds back all answers until this is dropped. Requests on open connections reach the store.
    async fn silence(&self) -> Stall {
        lacks("silence")
    }

    /// Has the store lose its newest writes, or go through the failure in which it may lose them. When this returns the
    /// store serves again.
    async fn lose(&self) {
        lacks("lose")
    }

    /// Opens a new connection as a user with these rights.
    async fn connect_as(&self, rights: Rights) -> Box<dyn Table> {
        lacks(&format!("connect_as({rights:?})"))
    }
}

fn lacks(what: &str) -> ! {
    panic!("the ground has no method {what}: implement it, or leave out the ability in table_laws!")
}

/// A table can do what the ground's line says, and no more.
pub async fn the_table_can_do_what_is_proven(ground: &dyn Ground, abilities: &[&str]) {
    // The first answer of the server decides.
    let table = client::Client::new(ground).await.table;
    assert_eq!(table.tells(), abilities.contains(&"tells"), "does it tell of changes?");
    assert_eq!(table.may_lose(), abilities.contains(&"loses"), "may it lose writes?");
    if !table.tells() {
        let told = poll_n_eagerly(100, table.changed(Range::Leaders)).await;
        assert!(told.is_none(), "a table that tells of no change has told: {told:?}");
    }
}

/// Expands to one test for each law of a [`Table`](elect_record::table::Table), each on its own ground.
///
/// The arguments are the path of a function `async fn(Servers) -> impl Ground` and the ground's abilities.
#[macro_export]
macro_rules! table_laws {
    ($ground:path $(: $($ability:ident),+)?) => {
        #[test]
        fn the_table_can_do_what_is_proven() {
            $crate::run("the abilities", async {
                let ground = $ground($crate::Servers::Shared).await;
                let abilities = &[$($(stringify!($ability)),+)?];
                $crate::table::the_table_can_do_what_is_proven(&ground, abilities).await;
            });
        }
        $crate::table_laws! { @each $ground, Shared:
            what_was_put_comes_back_byte_for_byte
            the_longest_body_comes_back
            cells_that_stay_the_same_are_kept
            a_renewal_or_a_request_may_change_the_cells
            a_write_that_expects_another_tag_changes_nothing
            one_of_many_puts_on_one_tag_is_done
            one_of_many_creations_is_done
            rows_that_are_written_at_once_do_not_conflict
            a_put_and_a_delete_on_one_tag_are_never_both_done
            no_tag_returns
            a_put_returns_the_tag_of_its_own_write
            a_deleted_row_is_gone_for_all
            a_put_in_another_epoch_is_not_done
            all_answers_name_one_epoch
            names_and_ranges_do_not_mix
            a_scan_shows_all_that_was_acknowledged_before
            an_examination_changes_nothing
            a_write_cut_anywhere_leaves_the_row_usable
            a_read_cut_anywhere_leaves_the_connection_usable
        }
        $($($crate::table_laws! { @$ability $ground })+)?
    };
    (@tells $ground:path) => {
        $crate::table_laws! { @each $ground, Shared:
            each_change_wakes_all_that_wait_in_its_range
            each_request_wakes_all_that_wait_for_requests
            a_change_that_a_read_did_not_show_wakes
            a_table_at_rest_wakes_no_client
        }
    };
    (@fails $ground:path) => {
        $crate::table_laws! { @each $ground, Own:
            a_client_whose_connection_was_cut_hears_of_changes_again
            without_a_connection_nothing_happens
            a_write_whose_answer_was_lost_is_ambiguous
            a_write_without_an_answer_is_not_sent_again
            a_call_dropped_in_silence_locks_nothing
        }
    };
    (@loses $ground:path) => {
        $crate::table_laws! { @each $ground, Own:
            each_loss_begins_a_young_epoch
            a_put_of_an_epoch_before_a_loss_is_not_done
            no_tag_returns_after_a_loss
        }
    };
    (@denies $ground:path) => {
        $crate::table_laws! { @each $ground, Own:
            a_user_is_denied_what_it_has_no_right_to
        }
    };
    (@each $ground:path, $servers:ident: $($law:ident)*) => {
        $(
            #[test]
            fn $law() {
                $crate::run(stringify!($law), async {
                    let ground = $ground($crate::Servers::$servers).await;
                    $crate::table::$law(&ground).await;
                });
            }
        )*
    };
}
