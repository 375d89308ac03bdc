//! Law 10: cells that only a leader writes.

use elect_api::{Cell, Durability, Order, Scope};

use crate::{Contender, Shared, election, expect_empty, expect_led_by, order, poll_n};

/// More await points than a call of any store has.
const CUTS: usize = 12;

/// A leader's cell is empty at first. All clients can read what the leader writes, in the election or not.
/// The next text replaces it.
pub async fn a_leaders_cell_is_there_for_later_clients(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    assert_eq!(line[0].read_cell().await, None);
    assert_eq!(line[0].write_cell("one").await, Ok(()));
    assert_eq!(line[1].read_cell().await.as_deref(), Some("one"));
    assert_eq!(line[0].write_cell("two").await, Ok(()));
    line[0].resign().await;
    line[1].wait_until_leading().await;
    assert_eq!(line[1].read_cell().await.as_deref(), Some("two"));
    line[1].resign().await;
    assert_eq!(Contender::new(&bench, "c").await.read_cell().await.as_deref(), Some("two"));
    expect_empty(&bench).await;
}

/// A candidate cannot write the cell before it leads, after it has resigned, or when it does not know yet
/// that another candidate leads.
pub async fn only_the_leader_writes_a_leaders_cell(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    assert!(line[1].write_cell("early").await.is_err());
    line[0].resign().await;
    assert!(line[0].write_cell("resigned").await.is_err());
    line[1].wait_until_leading().await;
    bench.evict(&election(), line[1].candidate()).await;
    if order(&bench).await == Order::Race {
        line[0].lead().await;
    } else {
        // Where an eviction leaves the lease with its holder, the holder may still write.
        line[1].resign().await;
        line[0].wait_until_leading().await;
    }
    assert!(line[1].write_cell("late").await.is_err());
    assert_eq!(line[0].read_cell().await, None);
}

/// A cell does not count as a candidate, and blocks none.
pub async fn a_leaders_cell_is_no_entry(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    line[0].write_cell("x").await.expect("it leads");
    expect_led_by(&bench, &["a", "b"]).await;
    assert_eq!(bench.connect().await.list(Scope::Entered).await.expect("a list"), [election()]);
    line[0].resign().await;
    line[1].lead().await;
    line[1].resign().await;
    expect_empty(&bench).await;
}

/// Elections with a common prefix in their names have separate cells.
pub async fn each_election_has_its_own_cells(bench: Shared) {
    let mut one = Contender::in_election(&bench, &"job".parse().expect("a name"), "a").await;
    let mut other = Contender::in_election(&bench, &"job.b".parse().expect("a name"), "a").await;
    one.lead().await;
    other.lead().await;
    one.write_cell("one").await.expect("it leads");
    assert_eq!(other.read_cell().await, None);
    other.write_cell("other").await.expect("it leads");
    assert_eq!(one.read_cell().await.as_deref(), Some("one"));
}

/// A change of a cell wakes every client that has read it, even if it was empty then.
pub async fn a_new_cell_wakes_all_clients_that_read_the_last(bench: Shared) {
    let mut leader = Contender::new(&bench, "a").await;
    leader.lead().await;
    let mut others = Vec::new();
    for id in ["b", "c"] {
        others.push(Contender::new(&bench, id).await);
    }
    for text in ["one", "two"] {
        let mut wakes = Vec::new();
        for other in &mut others {
            wakes.push(other.wake_of_cell().await);
        }
        leader.write_cell(text).await.expect("it leads");
        for wake in wakes {
            wake.await;
        }
        for other in &mut others {
            assert_eq!(other.read_cell().await.as_deref(), Some(text));
        }
    }
}

/// A cell may have the full length that the contract allows, of any bytes.
pub async fn a_leaders_cell_may_be_long(bench: Shared) {
    let mut leader = Contender::new(&bench, "a").await;
    leader.lead().await;
    let text = "\u{0}\u{00FC}\"\n".repeat(64 * 1024 / 5);
    assert_eq!(leader.write_cell(&text).await, Ok(()));
    assert_eq!(leader.read_cell().await, Some(text));
    assert_eq!(leader.write_cell("").await, Ok(()));
    assert_eq!(leader.read_cell().await.as_deref(), Some(""));
}

/// Wherever a write is dropped, first or later, the next attempt writes the cell. The dropped text never
/// appears afterwards.
pub async fn a_leaders_cell_cut_anywhere_may_be_written_again(bench: Shared) {
    let mut reader = Contender::new(&bench, "reader").await;
    for cut in 1..=CUTS {
        let mut leader = Contender::new(&bench, "a").await;
        leader.lead().await;
        for text in ["one", "two"] {
            let now = bench.now();
            let lost = leader.seat().write(now, Cell::Once, b"lost", Durability::Usual);
            drop(poll_n(cut, lost).await);
            assert_eq!(leader.write_cell(text).await, Ok(()));
            assert_eq!(reader.read_cell().await.as_deref(), Some(text));
        }
        leader.resign().await;
        assert_eq!(reader.read_cell().await.as_deref(), Some("two"));
        bench.wipe(&election()).await;
    }
}
