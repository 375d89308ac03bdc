//! Law 15: a value is written under the leader's token, by any client.

use elect_api::{
    Cell, ElectionName, Error, ErrorKind, Fenced, If, Key, Scope, Store, Token, Written, fence,
};

use crate::{Contender, Shared, apart, done, election, expect_empty, expect_led_by, poll_n};

/// More await points than a call of any store has.
const CUTS: usize = 12;

fn key(name: &str) -> Key {
    name.parse().expect("a good name")
}

/// Writes a value as a client that knows only the token.
async fn put(store: &dyn Store, token: Token, text: &str) -> Result<(), String> {
    let outcome = write(store, &election(), token, &key("cursor"), text.as_bytes()).await;
    done(&outcome.unwrap_or_else(|error| panic!("cannot put {text}: {error}: {error:?}")))
}

async fn write(
    store: &dyn Store,
    election: &ElectionName,
    token: Token,
    key: &Key,
    bytes: &[u8],
) -> Result<Written, Error> {
    store.write(election, Cell::Value(key), bytes, If::Leads(token)).await
}

async fn get(store: &dyn Store) -> Option<String> {
    let value = store.read(&election(), Cell::Value(&key("cursor"))).await;
    let value = value.unwrap_or_else(|error| panic!("cannot get: {error}: {error:?}"));
    Some(String::from_utf8(value.bytes?).expect("what was written"))
}

/// A value is absent at first. Once written with the leader's token, over any connection, it is there for all
/// clients. It stays when leaders change.
pub async fn a_value_is_there_for_later_clients(bench: Shared) {
    let (writer, reader) = (bench.connect().await, bench.connect().await);
    assert_eq!(get(reader.as_ref()).await, None);
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let token = line[0].lead().await;
    assert_eq!(get(reader.as_ref()).await, None);
    for text in ["one", "two", "two", ""] {
        assert_eq!(put(writer.as_ref(), token, text).await, Ok(()));
        assert_eq!(get(reader.as_ref()).await.as_deref(), Some(text));
    }
    line[0].resign().await;
    let next = line[1].wait_until_leading().await;
    assert_eq!(get(reader.as_ref()).await.as_deref(), Some(""));
    assert_eq!(put(writer.as_ref(), next, "three").await, Ok(()));
    line[1].resign().await;
    assert_eq!(get(bench.connect().await.as_ref()).await.as_deref(), Some("three"));
}

/// A write fails where no candidate leads, with the token of a former leader, and with a token that no candidate
/// has.
pub async fn only_the_token_of_the_leader_writes_a_value(bench: Shared) {
    let store = bench.connect().await;
    let expect_gone = async |token: Token, text: &str| {
        let noted = put(store.as_ref(), token, text).await;
        assert!(noted.is_err(), "{text}, with {token}");
    };
    expect_gone(Token::new(1), "no candidate ever led").await;
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let token = line[0].lead().await;
    for wrong in [0, token.get() - 1, token.get() + 1, u64::MAX] {
        expect_gone(Token::new(wrong), "no leader's").await;
    }
    line[0].resign().await;
    expect_gone(token, "resigned").await;
    let next = line[1].wait_until_leading().await;
    expect_gone(token, "stale").await;
    assert_eq!(put(store.as_ref(), next, "good").await, Ok(()));
    bench.evict(&election(), line[1].candidate()).await;
    expect_gone(next, "evicted").await;
    line[1].resign().await;
    expect_gone(next, "no candidate leads").await;
    assert_eq!(get(store.as_ref()).await.as_deref(), Some("good"));
}

/// A put that stood still at any point, while another candidate came to lead, does no harm when it goes on. It is
/// refused, or had written before. It does not matter whether the new leader has written in between.
pub async fn a_put_that_stood_still_writes_nothing_under_another_leader(bench: Shared) {
    let store = bench.connect().await;
    let mut refused = 0;
    for cut in 0..=CUTS {
        let mut line = Contender::in_line(&bench, &["a", "b"]).await;
        let token = line[0].lead().await;
        let first = format!("first {cut}");
        assert_eq!(put(store.as_ref(), token, &first).await, Ok(()));
        let stopped = bench.connect().await;
        let (election, cursor) = (election(), key("cursor"));
        let mut late = Box::pin(write(stopped.as_ref(), &election, token, &cursor, b"late"));
        let mut noted = poll_n(cut, &mut late).await;
        line.remove(0).crash().await;
        let next = line[0].wait_until_leading().await;
        if cut % 2 == 0 {
            assert_eq!(put(store.as_ref(), next, "new").await, Ok(()));
        }
        let before = get(store.as_ref()).await;
        if noted.is_none() {
            noted = Some(late.await);
            refused += u32::from(matches!(noted, Some(Ok(Written::Gone(_)))));
        }
        assert_eq!(get(store.as_ref()).await, before, "at {cut}: {noted:?}");
        line[0].resign().await;
    }
    assert!(refused > 0, "none was refused");
}

/// All writes that run at once with one token succeed, each under its own key and all under a shared one.
pub async fn values_of_many_writers_of_one_leader_are_all_written(bench: Shared) {
    const WRITERS: usize = 4;
    const TURNS: usize = 3;
    let mut leader = Contender::new(&bench, "a").await;
    let token = leader.lead().await;
    let mut threads = Vec::new();
    for writer in 0..WRITERS {
        let bench = Shared::clone(&bench);
        threads.push(apart(move || async move {
            let store = bench.connect().await;
            let own = key(&format!("own-{writer}"));
            for turn in 0..TURNS {
                let text = format!("{writer}.{turn}");
                for key in [&own, &key("cursor")] {
                    while !writes(store.as_ref(), token, key, &text).await {}
                }
                let found = store.read(&election(), Cell::Value(&own)).await.expect("a value");
                assert_eq!(found.bytes, Some(text.into_bytes()));
            }
        }));
    }
    for thread in threads {
        thread.join().expect("a writer");
    }
    let last = get(bench.connect().await.as_ref()).await.expect("a value");
    assert!(last.ends_with(&format!(".{}", TURNS - 1)), "{last}");
}

/// Tries to write once. A busy store may give no answer, or the write may be overtaken too often.
async fn writes(store: &dyn Store, token: Token, key: &Key, text: &str) -> bool {
    match write(store, &election(), token, key, text.as_bytes()).await {
        Ok(Written::Yes(_)) => true,
        Ok(refusal) => panic!("{text} was refused: {refusal:?}"),
        Err(error) => {
            assert!(!error.is_permanent(), "{error:?}");
            false
        }
    }
}

/// A value does not count as a candidate or as a leader's cell, and blocks no candidate.
pub async fn a_value_is_no_entry(bench: Shared) {
    let store = bench.connect().await;
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let token = line[0].lead().await;
    assert_eq!(line[0].write_cell("noted").await, Ok(()));
    assert_eq!(put(store.as_ref(), token, "kept").await, Ok(()));
    expect_led_by(&bench, &["a", "b"]).await;
    assert_eq!(bench.connect().await.list(Scope::Entered).await.expect("a list"), [election()]);
    assert_eq!(line[1].read_cell().await.as_deref(), Some("noted"));
    assert_eq!(line[0].lead().await, token);
    line[0].resign().await;
    line[1].lead().await;
    line[1].resign().await;
    expect_empty(&bench).await;
}

/// Keys with a common prefix are separate, and a fence has no part in the value of the same name.
pub async fn each_key_of_each_election_has_its_own_value(bench: Shared) {
    let store = bench.connect().await;
    let keys = ["a", "a.new", "a=", "7"].map(key);
    let mut leaders = Vec::new();
    for name in ["job", "job.b"] {
        let election: ElectionName = name.parse().expect("a name");
        let mut leader = Contender::in_election(&bench, &election, "x").await;
        let token = leader.lead().await;
        for key in &keys {
            let found = store.read(&election, Cell::Value(key)).await.expect("an answer");
            assert_eq!(found.bytes, None);
            let fenced = fence(store.as_ref(), &election, key, Token::new(3)).await;
            assert_eq!(fenced.expect("an answer"), Fenced::Passed);
            let text = format!("{name} {key}");
            let written = write(store.as_ref(), &election, token, key, text.as_bytes()).await;
            assert_eq!(done(&written.expect("an answer")), Ok(()));
        }
        leaders.push((election, leader));
    }
    for (election, _) in &leaders {
        for key in &keys {
            let found = store.read(election, Cell::Value(key)).await.expect("an answer");
            assert_eq!(found.bytes, Some(format!("{election} {key}").into_bytes()));
        }
    }
}

/// A value may have the full length that the contract allows, of any bytes, and no more.
pub async fn a_value_may_be_long(bench: Shared) {
    let store = bench.connect().await;
    let mut leader = Contender::new(&bench, "a").await;
    let token = leader.lead().await;
    let value: Vec<u8> = (0..=u8::MAX).cycle().take(Cell::LONGEST + 1).collect();
    let (longest, cursor) = (&value[..Cell::LONGEST], key("cursor"));
    let written = write(store.as_ref(), &election(), token, &cursor, longest).await;
    assert_eq!(done(&written.expect("an answer")), Ok(()));
    let refusal = write(store.as_ref(), &election(), token, &cursor, &value).await;
    assert_eq!(refusal.expect_err("too long").kind(), ErrorKind::Unfit);
    let found = store.read(&election(), Cell::Value(&cursor)).await.expect("an answer");
    assert!(found.bytes.is_some_and(|found| found == longest));
}

/// Wherever a write is dropped, first or later, the next attempt writes the value. The dropped text never appears
/// afterwards.
pub async fn a_value_cut_anywhere_may_be_written_again(bench: Shared) {
    let reader = bench.connect().await;
    for cut in 1..=CUTS {
        let mut leader = Contender::new(&bench, "a").await;
        let token = leader.lead().await;
        for text in ["one", "two"] {
            let store = bench.connect().await;
            let (election, cursor) = (election(), key("cursor"));
            let lost = write(store.as_ref(), &election, token, &cursor, b"lost");
            drop(poll_n(cut, lost).await);
            assert_eq!(put(store.as_ref(), token, text).await, Ok(()), "cut at {cut}");
            assert_eq!(get(reader.as_ref()).await.as_deref(), Some(text), "cut at {cut}");
        }
        leader.resign().await;
        assert_eq!(get(reader.as_ref()).await.as_deref(), Some("two"));
        bench.wipe(&election()).await;
    }
}
