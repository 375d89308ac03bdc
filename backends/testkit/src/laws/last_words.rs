//! Law 10: the cell that a leader writes as it resigns, and how others read it.

use elect_api::{Cell, Durability, Order, Scope};

use crate::{
    Contender, Shared, cell, done, election, expect_empty, expect_led_by, line_up, order, poll_n,
};

/// More await points than a resign of any store has.
const CUTS: usize = 12;

const HISTORY: Cell<'static> = Cell::History;

/// The cells of a leader do not overwrite each other, in whatever order they are written.
pub async fn each_leaders_cell_is_another(bench: Shared) {
    let mut leader = Contender::new(&bench, "a").await;
    leader.lead().await;
    for round in ["1", "2"] {
        let now = bench.now();
        let bytes = round.as_bytes();
        let written = leader.seat().write(now, HISTORY, bytes, Durability::Usual).await;
        assert_eq!(done(&written.expect("a leader writes")), Ok(()));
        assert_eq!(leader.write_cell(&format!("once {round}")).await, Ok(()));
        assert_eq!(leader.read_cell().await, Some(format!("once {round}")));
        assert_eq!(cell(&bench, HISTORY).await.as_deref(), Some(round));
    }
}

/// A reader that is no candidate reads each cell, even before any candidate has entered. It creates
/// nothing and disturbs no candidate.
pub async fn a_reader_that_is_no_candidate_reads_a_cell_and_creates_nothing(bench: Shared) {
    for name in Cell::OF_LEADERS {
        assert_eq!(cell(&bench, name).await, None);
    }
    assert_eq!(bench.connect().await.list(Scope::Entered).await.expect("a list"), []);
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let token = line[0].lead().await;
    assert_eq!(line[0].write_cell("one").await, Ok(()));
    assert_eq!(cell(&bench, Cell::Once).await.as_deref(), Some("one"));
    assert_eq!(cell(&bench, HISTORY).await, None);
    assert_eq!(line[0].lead().await, token);
    expect_led_by(&bench, &["a", "b"]).await;
}

/// Last words can be read after the resign, whether there were any before or not. The next
/// candidate still leads at once.
pub async fn last_words_are_there_for_the_next_leader(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    line[0].resign_with("a was here").await;
    let token = line[1].lead().await;
    let now = bench.now();
    let read = line[1].seat().read(now, HISTORY).await.expect("a cell");
    assert_eq!(read.bytes.as_deref(), Some(&b"a was here"[..]));
    line[1].resign_with("b was here").await;
    assert!(line[2].lead().await > token);
    assert_eq!(cell(&bench, HISTORY).await.as_deref(), Some("b was here"));
    line[2].resign().await;
    assert_eq!(cell(&bench, HISTORY).await.as_deref(), Some("b was here"));
    expect_empty(&bench).await;
    line[0].lead().await;
}

/// A candidate that does not lead writes no last words. Its place is given up all the same, and the
/// current leader is not disturbed.
pub async fn a_candidate_that_does_not_lead_writes_no_last_words(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    line[1].resign_with("waited").await;
    line[1].resign_with("out").await;
    expect_led_by(&bench, &["a", "c"]).await;
    bench.evict(&election(), line[0].candidate()).await;
    if order(&bench).await == Order::Race {
        line[2].lead().await;
        line[0].resign_with("late").await;
        line[2].lead().await;
    } else {
        // Where an eviction leaves the lease with its holder, the holder leads until it resigns.
        line[0].resign().await;
        line[2].wait_until_leading().await;
        line[0].resign_with("late").await;
    }
    assert_eq!(cell(&bench, HISTORY).await, None);
    expect_led_by(&bench, &["c"]).await;
}

/// Wherever a resign is cut, an entry that is still there has written nothing, and one that is gone
/// has written its last words.
pub async fn last_words_are_written_as_the_entry_goes(bench: Shared) {
    for cut in 1..=CUTS {
        let mut leader = Contender::new(&bench, "a").await;
        leader.lead().await;
        drop(poll_n(cut, leader.seat().resign(Some((HISTORY, b"words")))).await);
        let before = cell(&bench, HISTORY).await.is_some();
        let is_gone = !line_up(&bench).await.shows("a");
        let after = cell(&bench, HISTORY).await.is_some();
        assert!(is_gone || !before, "its words are there, and so is it, after {cut}");
        assert!(after || !is_gone, "it is gone without a word after {cut}");
        leader.resign().await;
        expect_empty(&bench).await;
        bench.wipe(&election()).await;
    }
}
