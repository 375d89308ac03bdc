//! Law 11: what is written to the control cell reaches all candidates.

use std::slice;

use elect_api::{
    Cell, Durability, ElectionName, Error, ErrorKind, If, Removal, Scope, Store, Versioned, Written,
};

use crate::{Contender, Shared, apart, election, expect_empty, expect_led_by, order, poll_n};

/// More await points than a call of any store has.
const CUTS: usize = 12;

async fn asked(store: &dyn Store) -> Versioned {
    asked_of(store, &election()).await
}

async fn asked_of(store: &dyn Store, election: &ElectionName) -> Versioned {
    store.read(election, Cell::Control).await.expect("what is asked")
}

async fn give(store: &dyn Store, text: &str, version: u64) -> Result<Written, Error> {
    write(store, &election(), text.as_bytes(), version).await
}

async fn write(
    store: &dyn Store,
    election: &ElectionName,
    bytes: &[u8],
    version: u64,
) -> Result<Written, Error> {
    store.write(election, Cell::Control, bytes, If::Version(version)).await
}

/// Replaces the text of the control cell, and returns its version.
async fn ask(store: &dyn Store, text: &str) -> u64 {
    let version = asked(store).await.version;
    match give(store, text, version).await.expect("an answer") {
        Written::Yes(version) => version,
        refusal => panic!("{refusal:?} though no other client writes"),
    }
}

fn saying(text: &str, version: u64) -> Versioned {
    Versioned { bytes: Some(text.into()), version }
}

/// The control cell is empty at first, and what is written then is there for every reader. It needs no
/// candidate, and creates no election.
pub async fn a_control_cell_may_be_written_before_any_candidate_enters(bench: Shared) {
    let store = bench.connect().await;
    assert_eq!(asked(store.as_ref()).await, Versioned::default());
    let first = ask(store.as_ref(), "one").await;
    assert_eq!(asked(store.as_ref()).await, saying("one", first));
    let second = ask(bench.connect().await.as_ref(), "two").await;
    assert!(first > 0 && second > first, "versions fall: {first}, {second}");
    assert_eq!(asked(store.as_ref()).await, saying("two", second));
    assert_eq!(store.list(Scope::Entered).await.expect("a list"), []);
    expect_empty(&bench).await;
    Contender::new(&bench, "a").await.lead().await;
    assert_eq!(store.list(Scope::Entered).await.expect("a list"), [election()]);
}

/// The list has each election with a control cell once, as long as the cell is there.
pub async fn elections_with_a_control_cell_are_listed_by_name(bench: Shared) {
    let store = bench.connect().await;
    let listed = async || store.list(Scope::Asked).await.expect("a list");
    assert_eq!(listed().await, []);
    let mut leader = Contender::new(&bench, "a").await;
    leader.lead().await;
    leader.write_cell("another cell").await.expect("it leads");
    assert_eq!(listed().await, []);
    let other: ElectionName = "other".parse().expect("a good name");
    for _ in 0..2 {
        let version = asked_of(store.as_ref(), &other).await.version;
        write(store.as_ref(), &other, b"something", version).await.expect("an answer");
        assert_eq!(listed().await, slice::from_ref(&other));
    }
    assert_eq!(store.list(Scope::Entered).await.expect("a list"), [election()]);
    ask(store.as_ref(), "something").await;
    let mut both = listed().await;
    both.sort();
    assert_eq!(both, [election(), other.clone()]);
    leader.resign().await;
    for (forgotten, left) in [(election(), vec![other.clone()]), (other, Vec::new())] {
        store.remove(&forgotten, Removal::Everything { fences: true }).await.expect("it is empty");
        assert_eq!(listed().await, left);
    }
}

/// Of two clients that have read the same version, one writes. A client with an old version, or with none,
/// does not.
pub async fn a_control_cell_that_was_overtaken_is_not_written(bench: Shared) {
    let (one, other) = (bench.connect().await, bench.connect().await);
    let mut version = 0;
    for text in ["one", "two"] {
        let Ok(Written::Yes(written)) = give(one.as_ref(), text, version).await else {
            panic!("{text} was not written")
        };
        for stale in [version, written + 1, u64::MAX] {
            let late = give(other.as_ref(), "late", stale).await.expect("an answer");
            assert_eq!(late, Written::Overtaken, "by {text}, having read {stale}");
        }
        assert_eq!(asked(other.as_ref()).await, saying(text, written));
        version = written;
    }
    assert_eq!(give(one.as_ref(), "none", 0).await.expect("an answer"), Written::Overtaken);
}

/// Clients that write at once get through one after another, and no change is lost.
pub async fn the_changes_of_many_writers_are_all_written(bench: Shared) {
    const WRITERS: usize = 4;
    const TURNS: usize = 5;
    let mut threads = Vec::new();
    for writer in 0..WRITERS {
        let bench = Shared::clone(&bench);
        threads.push(apart(move || async move {
            let store = bench.connect().await;
            for turn in 0..TURNS {
                let line = format!("{writer}.{turn}\n");
                while !adds(store.as_ref(), &line).await.unwrap_or_else(|error| {
                    // A busy store may give no answer.
                    assert!(!error.is_permanent(), "{error:?}");
                    false
                }) {}
            }
        }));
    }
    for thread in threads {
        thread.join().expect("a writer");
    }
    let text = asked(bench.connect().await.as_ref()).await.bytes.expect("a text");
    let text = String::from_utf8(text).expect("what was written");
    for writer in 0..WRITERS {
        let prefix = format!("{writer}.");
        let turns: Vec<_> = text.lines().filter(|line| line.starts_with(&prefix)).collect();
        let all: Vec<_> = (0..TURNS).map(|turn| format!("{writer}.{turn}")).collect();
        assert_eq!(turns, all, "{text}");
    }
}

/// Tries to append this line, and returns whether it is there.
async fn adds(store: &dyn Store, line: &str) -> Result<bool, Error> {
    let Versioned { bytes, version } = store.read(&election(), Cell::Control).await?;
    let text = String::from_utf8(bytes.unwrap_or_default()).expect("a text");
    // The line was written, although the reply was lost.
    if text.contains(line) {
        return Ok(true);
    }
    let ordered = give(store, &format!("{text}{line}"), version).await?;
    Ok(matches!(ordered, Written::Yes(_)))
}

/// Every refresh returns the control cell as it was written before: the first text, a later one, or none.
pub async fn a_refresh_brings_the_control_cell_of_before_it(bench: Shared) {
    let store = bench.connect().await;
    let store = store.as_ref();
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    for contender in &mut line {
        assert_eq!(*contender.control(), Versioned::default());
    }
    for text in ["one", "two", "three"] {
        let version = ask(store, text).await;
        line[0].lead().await;
        line[1].wait_behind(1).await;
        line[2].wait_behind(2).await;
        for contender in &mut line {
            assert_eq!(*contender.control(), saying(text, version));
        }
        // A new candidate gets it with its first refresh.
        let mut late = Contender::new(&bench, "late").await;
        late.wait_behind(3).await;
        assert_eq!(*late.control(), saying(text, version));
        late.resign().await;
    }
    let version = ask(store, "four").await;
    line[0].resign().await;
    line[1].wait_until_leading().await;
    assert_eq!(*line[1].control(), saying("four", version));
}

/// Each write wakes the leader and every waiter, the first write and later ones.
pub async fn a_write_of_the_control_cell_wakes_every_candidate(bench: Shared) {
    let store = bench.connect().await;
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    for text in ["one", "two"] {
        let mut wakes = vec![line[0].sleep_leading().await];
        for (ahead, waiter) in line.iter_mut().enumerate().skip(1) {
            wakes.push(waiter.sleep_behind(ahead).await);
        }
        for wake in &mut wakes {
            assert!(poll_n(1, wake).await.is_none(), "woke up though nothing happened");
        }
        ask(store.as_ref(), text).await;
        for wake in wakes {
            wake.await;
        }
    }
}

/// Where there is a control cell, a change of leader still wakes one waiter only.
pub async fn one_change_wakes_one_waiter_where_there_is_a_control_cell(bench: Shared) {
    let store = bench.connect().await;
    ask(store.as_ref(), "before").await;
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    // The wake for the cell may come late, and would then look like one for the change of leader.
    let heard = [line[1].sleep_behind(1).await, line[2].sleep_behind(2).await];
    ask(store.as_ref(), "now").await;
    for wake in heard {
        wake.await;
    }
    let first = line[1].sleep_behind(1).await;
    let mut second = line[2].sleep_behind(2).await;
    assert!(poll_n(1, &mut second).await.is_none(), "woke up though nothing happened");
    line[0].resign().await;
    first.await;
    if order(&bench).await == elect_api::Order::Queue {
        assert!(poll_n(1, &mut second).await.is_none(), "one change woke two waiters");
    }
    line[1].lead().await;
}

/// A write wakes waiting clients even where no candidate was ever in the election.
pub async fn a_write_of_the_control_cell_wakes_a_watcher(bench: Shared) {
    let store = bench.connect().await;
    for text in ["one", "two"] {
        let wake = store.changed(&election()).await.expect("a look-out");
        ask(store.as_ref(), text).await;
        wake.await;
    }
    let mut leader = Contender::new(&bench, "a").await;
    leader.lead().await;
    let wake = store.changed(&election()).await.expect("a look-out");
    ask(store.as_ref(), "three").await;
    wake.await;
}

/// The control cell is neither an entry nor a leader's cell, and stays when all candidates are gone.
pub async fn a_control_cell_is_neither_an_entry_nor_a_cell_of_a_leader(bench: Shared) {
    let store = bench.connect().await;
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    line[0].write_cell("noted").await.expect("it leads");
    let version = ask(store.as_ref(), "asked").await;
    expect_led_by(&bench, &["a", "b"]).await;
    assert_eq!(line[1].read_cell().await.as_deref(), Some("noted"));
    let cell = line[0].seat().write(bench.now(), Cell::Once, b"again", Durability::Usual).await;
    cell.expect("a cell");
    assert_eq!(asked(store.as_ref()).await, saying("asked", version));
    line.remove(0).crash().await;
    line[0].wait_until_leading().await;
    line[0].resign().await;
    expect_empty(&bench).await;
    assert_eq!(asked(store.as_ref()).await, saying("asked", version));
}

/// Elections with a common prefix in their names have separate control cells.
pub async fn each_election_has_its_own_control_cell(bench: Shared) {
    let store = bench.connect().await;
    let names = ["job", "job.b", "jo"].map(|name| name.parse().expect("a name"));
    for name in &names {
        assert_eq!(asked_of(store.as_ref(), name).await, Versioned::default());
        let text = name.to_string();
        write(store.as_ref(), name, text.as_bytes(), 0).await.expect("an answer");
    }
    for name in &names {
        let found = asked_of(store.as_ref(), name).await.bytes;
        assert_eq!(found, Some(name.to_string().into_bytes()));
    }
}

/// A control cell may have the full length that the contract allows, of any bytes, and no more.
pub async fn a_control_cell_may_be_long(bench: Shared) {
    let store = bench.connect().await;
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let text: Vec<u8> = (0..=u8::MAX).cycle().take(Cell::LONGEST).collect();
    let written = write(store.as_ref(), &election(), &text, 0).await.expect("an answer");
    let Written::Yes(version) = written else { panic!("they were not written") };
    let long = Versioned { bytes: Some(text.clone()), version };
    assert_eq!(asked(store.as_ref()).await, long);
    line[0].lead().await;
    line[1].wait_behind(1).await;
    for contender in &mut line {
        assert!(*contender.control() == long, "they are others");
    }
    let longer = [&text[..], b"x"].concat();
    let error = write(store.as_ref(), &election(), &longer, version).await.expect_err("too long");
    assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
    let empty = give(store.as_ref(), "", version).await.expect("an answer");
    let Written::Yes(version) = empty else { panic!("they were not written") };
    assert_eq!(asked(store.as_ref()).await, saying("", version));
}

/// Wherever a write is dropped, it takes effect or it does not. It never appears after a later write.
pub async fn an_order_cut_anywhere_may_be_written_again(bench: Shared) {
    for cut in 1..=CUTS {
        let store = bench.connect().await;
        for text in ["one", "two"] {
            let Versioned { version, .. } = asked(store.as_ref()).await;
            drop(poll_n(cut, give(store.as_ref(), "lost", version)).await);
            let present = ask_again(store.as_ref(), text).await;
            assert_eq!(asked(store.as_ref()).await, saying(text, present));
            assert_eq!(asked(bench.connect().await.as_ref()).await, saying(text, present));
        }
        store.remove(&election(), Removal::Everything { fences: true }).await.expect("it is empty");
    }
}

/// Writes the text. The dropped write may come in between, once.
async fn ask_again(store: &dyn Store, text: &str) -> u64 {
    for _ in 0..2 {
        let version = asked(store).await.version;
        if let Written::Yes(version) = give(store, text, version).await.expect("an answer") {
            return version;
        }
    }
    panic!("overtaken though no other client writes")
}

/// The control cell goes with all else that there is of an election, and the next cell has another version.
pub async fn a_forgotten_control_cell_is_gone(bench: Shared) {
    let store = bench.connect().await;
    let store = store.as_ref();
    let mut contender = Contender::new(&bench, "a").await;
    for entered in [false, true] {
        if entered {
            contender.lead().await;
            contender.resign().await;
        }
        let version = ask(store, "gone").await;
        store.remove(&election(), Removal::Everything { fences: true }).await.expect("it is empty");
        assert_eq!(asked(store).await, Versioned::default());
        assert_eq!(store.list(Scope::Entered).await.expect("a list"), []);
        assert!(ask(store, "anew").await > version, "a version came again");
        store.remove(&election(), Removal::Everything { fences: true }).await.expect("it is empty");
    }
    contender.lead().await;
    assert_eq!(*contender.control(), Versioned::default());
    contender.resign().await;
}
