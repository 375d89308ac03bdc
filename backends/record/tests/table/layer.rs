//! The layer between a table and its documents: what it reads, writes and polls.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Waker};
use std::time::Duration;

use elect_api::{Candidate, ElectionName, ErrorKind, Standing, Store as _};
use elect_record::table::{Body, Key, MemoryTable, Put, Table as _, TableDocuments};
use elect_record::{
    Document, Documents as _, Holder, Name, Purpose, Record, RecordStore, Removed, Stored, Swapped,
    Text, Waiter,
};
use elect_testkit::sim::{Clock as _, TokioClock};
use elect_testkit::{election, poll_n_eagerly};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::bench::Stallable;

const POLL: Purpose = Purpose::Poll;

type Layer = TableDocuments<Stallable>;

/// Runs a test whose time passes as soon as all wait.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().expect("a runtime").block_on(test)
}

fn waiter() -> Document {
    Document::Waiter(Waiter {
        rank: Some(1),
        arrived: None,
        ahead: None,
        beat: 1,
        ttl: 12_000,
        candidate: Candidate::foreign("c"),
        joined: 1,
    })
}

fn holder() -> Holder {
    Holder {
        nonce: 1,
        beat: 1,
        ttl: 12_000,
        candidate: Candidate::foreign("c"),
        joined: 1,
        since: 1,
        arrival: 1,
        renewed: None,
    }
}

/// Writes a document in place of the newest version. Returns its version.
async fn write(layer: &Layer, name: Name, document: &Document) -> u64 {
    let found = layer.read(&election(), name, POLL).await.expect("an answer");
    let version = found.map_or(0, |found| found.version);
    match layer.swap(&election(), name, version, document, POLL).await.expect("an answer") {
        Swapped::Yes(version) => version,
        Swapped::No => panic!("another version than was read"),
    }
}

async fn put(table: &MemoryTable, document: &str, body: Body) {
    let election = election();
    let key = Key { election: election.as_str(), document };
    let tag = table.get(key).await.expect("an answer").row.map(|row| row.tag);
    let put = table.put(key, "", tag.as_ref(), &body).await.expect("an answer");
    assert!(matches!(put, Put::Done(_)));
}

/// Changes a row after so many seconds, while another client waits for that. Returns after how long it heard of the
/// change, and how many rows were read.
async fn heard(after: u64) -> (Duration, u64) {
    let table = Stallable { is_mute: true, ..Stallable::default() };
    let (ours, theirs) = (Layer::new(table.clone()), Layer::new(table.clone()));
    let version = write(&theirs, Name::Record, &Document::Record(Record::default())).await;
    let (clock, before) = (TokioClock::new(), table.reads.load(Ordering::Relaxed));
    let begun = clock.now();
    let change = async {
        tokio::time::sleep(Duration::from_secs(after)).await;
        let record = Record { token: 1, ..Record::default() };
        write(&theirs, Name::Record, &Document::Record(record)).await;
    };
    let mut seen = 0;
    let mut is_news = |_, found: Option<&Document>| {
        seen += 1;
        matches!(found, Some(Document::Record(record)) if record.token == 1)
    };
    let name = election();
    let wait = ours.wait(&name, Name::Record, version, &mut is_news);
    let (waited, ()) = tokio::join!(wait, change);
    waited.expect("news");
    assert_eq!(seen, 1, "only changes are shown");
    (clock.now().since(begun), table.reads.load(Ordering::Relaxed) - before)
}

#[test]
fn a_table_that_tells_nothing_is_read_again_after_growing_pauses() {
    run(async {
        for after in [5, 70] {
            let (took, reads) = heard(after).await;
            let in_time = Duration::from_secs(after)..=Duration::from_secs(after + 1);
            assert!(in_time.contains(&took), "{took:?}");
            assert!(reads < 8 + after, "{reads} reads in {took:?}");
        }
    });
}

/// A short command ends before, so its run costs neither the request for notices nor the look that follows it.
#[test]
fn a_new_leader_asks_for_notices_after_a_while() {
    run(async {
        let table = Stallable { fails_to_tell: true, ..Stallable::default() };
        let (ours, theirs) = (Layer::new(table.clone()), Layer::new(table.clone()));
        let (name, document) = (election(), Document::Record(Record::default()));
        let version = write(&ours, Name::Record, &document).await;
        let before = table.reads.load(Ordering::Relaxed);
        let mut is_news = |_, _: Option<&Document>| true;
        let mut wait = pin!(ours.wait(&name, Name::Record, version, &mut is_news));
        assert!(timeout(Duration::from_millis(400), &mut wait).await.is_err(), "nothing changed");
        assert_eq!(table.reads.load(Ordering::Relaxed), before);
        write(&theirs, Name::Record, &document).await;
        timeout(Duration::from_millis(200), wait).await.expect("in time").expect("news");
    });
}

/// The record of a leader that leaves is written, and then its lock ends. The lock of one that dies ends before.
#[test]
fn the_next_candidate_that_is_woken_looks_at_once_and_again_soon() {
    run(async {
        for (lag, within) in [(0, 0), (60, 75)] {
            let left = watch::Sender::default();
            let table =
                Stallable { is_mute: true, left: Some(left.clone()), ..Stallable::default() };
            let (ours, theirs) = (Layer::new(table.clone()), Layer::new(table.clone()));
            let led = Record { token: 1, ..Record::default() };
            let version = write(&theirs, Name::Record, &Document::Record(led)).await;
            let clock = TokioClock::new();
            let leave = async {
                tokio::time::sleep(Duration::from_millis(60_100)).await;
                let begun = clock.now();
                // A write that names a holder does not wake.
                let holder = (lag > 0).then(holder);
                if lag > 0 {
                    left.send_replace(());
                    tokio::time::sleep(Duration::from_millis(lag)).await;
                }
                let record = Record { holder, ..Record::default() };
                write(&theirs, Name::Record, &Document::Record(record)).await;
                begun
            };
            let mut is_news = |_, _: Option<&Document>| true;
            let name = election();
            let wait = ours.wait_for_turn(&name, version, &mut is_news);
            let wait = async {
                wait.await.expect("news");
                clock.now()
            };
            let (noticed, begun) = tokio::join!(wait, leave);
            let took = noticed.since(begun);
            assert!(took <= Duration::from_millis(within), "{took:?}");
            // A look by the pauses does not begin the wait anew.
            assert_eq!(table.waits.load(Ordering::Relaxed), 2);
        }
    });
}

/// Requests of people name a leader as well, and are no leader's.
#[test]
fn a_write_says_whether_its_writer_leads() {
    run(async {
        let table = Stallable::default();
        let layer = Layer::new(table.clone());
        let (held, free) = (Some(holder()), None);
        let mut version = 0;
        for (holder, purpose, leads) in [
            (&free, Purpose::Enter, Some(false)),
            (&held, Purpose::Enter, Some(true)),
            (&held, Purpose::Renew, Some(true)),
            (&held, Purpose::LeaderCell, Some(true)),
            (&held, Purpose::Control, None),
            (&free, Purpose::Leave, Some(false)),
            (&held, Purpose::Enter, Some(true)),
            (&free, Purpose::Redeem, Some(false)),
        ] {
            layer.read(&election(), Name::Record, POLL).await.expect("an answer");
            let record = Record { holder: holder.clone(), ..Record::default() };
            let (name, document) = (election(), Document::Record(record));
            let swapped = layer.swap(&name, Name::Record, version, &document, purpose).await;
            let Swapped::Yes(next) = swapped.expect("an answer") else { panic!("{purpose:?}") };
            version = next;
            let written = table.written.lock().expect("no panic").last().expect("one").leads;
            assert_eq!(written, leads, "{purpose:?}");
        }
        write(&layer, Name::Waiter(7), &waiter()).await;
        assert_eq!(table.written.lock().expect("no panic").last().expect("one").leads, None);
    });
}

/// A renewal is no news for a waiter, so it costs no further look.
#[test]
fn renewals_of_others_do_not_begin_the_pauses_anew() {
    run(async {
        let table = Stallable { is_mute: true, ..Stallable::default() };
        let (ours, theirs) = (Layer::new(table.clone()), Layer::new(table.clone()));
        let version = write(&theirs, Name::Waiter(7), &waiter()).await;
        let renew = async {
            loop {
                tokio::time::sleep(Duration::from_millis(2500)).await;
                write(&theirs, Name::Waiter(7), &waiter()).await;
            }
        };
        let (name, before) = (election(), table.reads.load(Ordering::Relaxed));
        let mut is_news = |_, found: Option<&Document>| found.is_none();
        let wait = ours.wait(&name, Name::Waiter(7), version, &mut is_news);
        let both = async { tokio::join!(wait, renew) };
        assert!(timeout(Duration::from_secs(600), both).await.is_err(), "a renewal is news");
        // Each write reads the row once.
        let reads = table.reads.load(Ordering::Relaxed) - before - 600_000 / 2500;
        // With pauses that begin anew there are four looks between two renewals.
        assert!(reads < 8 + 600, "{reads} looks in ten minutes");
    });
}

/// Refreshes show them as well. Each watch costs looks, so those who wait far behind have none.
#[test]
fn where_no_notices_come_requests_are_looked_for_seldom() {
    run(async {
        let table = Stallable { is_mute: true, ..Stallable::default() };
        let (ours, theirs) = (Layer::new(table.clone()), Layer::new(Stallable::default()));
        assert!(ours.wakes_all() && !theirs.wakes_all());
        let (name, before) = (election(), table.reads.load(Ordering::Relaxed));
        let mut is_news = |_, _: Option<&Document>| true;
        let wait = ours.wait_for_request(&name, 0, &mut is_news);
        assert!(timeout(Duration::from_secs(600), wait).await.is_err(), "there was no request");
        let reads = table.reads.load(Ordering::Relaxed) - before;
        assert!(reads <= 600 / 4, "{reads} looks in ten minutes");
    });
}

/// An attempt to enter of which nothing is known would leave an entry in doubt. This one has made none.
#[test]
fn an_unclear_attempt_to_make_the_table_may_be_repeated() {
    run(async {
        let ours = Layer::new(Stallable { fails_to_prepare: true, ..Stallable::default() });
        let error = ours.prepare().await.expect_err("no answer");
        assert_eq!(error.kind(), ErrorKind::Unreachable);
    });
}

#[test]
fn a_row_that_was_read_since_the_last_notice_is_not_read_again() {
    run(async {
        let table = Stallable::default();
        let (ours, theirs) = (Layer::new(table.clone()), Layer::new(table.clone()));
        let (name, document) = (election(), Document::Record(Record::default()));
        write(&theirs, Name::Record, &document).await;
        let found = ours.read(&name, Name::Record, POLL).await.expect("an answer");
        let version = found.expect("a record").version;
        let before = table.reads.load(Ordering::Relaxed);
        let [mut is_news, mut is_news_too] = [|_, _: Option<&Document>| true; 2];
        {
            let mut wait = pin!(ours.wait(&name, Name::Record, version, &mut is_news));
            let mut request = pin!(ours.wait_for_request(&name, version, &mut is_news_too));
            let mut context = Context::from_waker(Waker::noop());
            assert!(wait.as_mut().poll(&mut context).is_pending());
            assert!(request.as_mut().poll(&mut context).is_pending());
            assert_eq!(table.reads.load(Ordering::Relaxed), before, "it was read");
        }
        // What was read is older than the last notice.
        write(&theirs, Name::Record, &document).await;
        let wait = ours.wait(&name, Name::Record, version, &mut is_news);
        timeout(Duration::from_secs(1), wait).await.expect("in time").expect("news");
    });
}

#[test]
fn a_row_of_its_own_is_read_seldom() {
    run(async {
        let table = Stallable { is_mute: true, ..Stallable::default() };
        let (ours, theirs) = (Layer::new(table.clone()), Layer::new(table));
        let version = write(&ours, Name::Record, &Document::Record(Record::default())).await;
        write(&theirs, Name::Record, &Document::Record(Record::default())).await;
        let name = election();
        let mut is_news = |_, _: Option<&Document>| true;
        let wait = ours.wait(&name, Name::Record, version, &mut is_news);
        assert!(timeout(Duration::from_secs(3), wait).await.is_err(), "it was read soon");
        let wait = ours.wait(&name, Name::Record, version, &mut is_news);
        timeout(Duration::from_secs(5), wait).await.expect("in time").expect("news");
        // A write that was overtaken shows that the row is another's.
        let document = Document::Record(Record::default());
        let overtaken = ours.swap(&name, Name::Record, version, &document, POLL).await;
        assert_eq!(overtaken.expect("an answer"), Swapped::No);
        let wait = ours.wait(&name, Name::Record, version, &mut is_news);
        timeout(Duration::from_secs(60), wait).await.expect("in time").expect("news");
    });
}

/// Seats share what was read last. One of them may expect a version that another has seen replaced.
#[test]
fn a_write_replaces_the_version_only_that_it_expects() {
    run(async {
        let table = Stallable::default();
        let (ours, theirs) = (Layer::new(table.clone()), Layer::new(table));
        let name = election();
        for (of, document) in
            [(Name::Record, Document::Record(Record::default())), (Name::Waiter(7), waiter())]
        {
            let old = write(&ours, of, &document).await;
            let new = write(&theirs, of, &document).await;
            ours.read(&name, of, POLL).await.expect("an answer");
            for version in [0, old] {
                let swapped = ours.swap(&name, of, version, &document, POLL).await;
                assert_eq!(swapped.expect("an answer"), Swapped::No);
                ours.read(&name, of, POLL).await.expect("an answer");
            }
            let gone = ours.remove(&name, of, old, POLL).await;
            assert_eq!(gone.expect("an answer"), Removed::No);
            ours.read(&name, of, POLL).await.expect("an answer");
            let gone = ours.remove(&name, of, new, POLL).await;
            assert_eq!(gone.expect("an answer"), Removed::Yes);
        }
    });
}

/// Seats share what was read last. One of them may know a record of before a loss that another has seen.
#[test]
fn what_a_writer_knows_is_of_the_epoch_in_which_it_writes() {
    run(async {
        let memory = MemoryTable::lossy();
        let layer = Layer::new(Stallable { table: memory.clone(), ..Stallable::default() });
        let name = election();
        let read = async || {
            let found = layer.read(&name, Name::Record, POLL).await.expect("an answer");
            let Some(Stored { version, document: Document::Record(record) }) = found else {
                panic!("no record")
            };
            (version, record)
        };
        let swap = async |version, record: &Record| {
            let document = Document::Record(record.clone());
            layer.swap(&name, Name::Record, version, &document, POLL).await.expect("an answer")
        };
        let (_, known) = read().await;
        assert!(matches!(swap(0, &known).await, Swapped::Yes(_)));
        let (version, known) = read().await;
        memory.lose(0);
        let (same, doubted) = read().await;
        assert_eq!((same, doubted.doubt.is_some()), (version, true));
        assert_eq!(swap(version, &known).await, Swapped::No);
        assert!(matches!(swap(version, &doubted).await, Swapped::Yes(_)));
        let (_, written) = read().await;
        assert_eq!(written.doubt, doubted.doubt, "a write ends no doubt");
    });
}

#[test]
fn a_survey_hears_of_rows_that_are_gone() {
    run(async {
        for is_mute in [false, true] {
            let table = Stallable { is_mute, ..Stallable::default() };
            let (ours, theirs) = (Layer::new(table.clone()), Layer::new(table));
            let version = write(&theirs, Name::Waiter(7), &waiter()).await;
            let name = election();
            let listing = ours.list(&name, Purpose::Survey).await.expect("a list");
            let gone = theirs.remove(&name, Name::Waiter(7), version, POLL).await;
            assert_eq!(gone.expect("an answer"), Removed::Yes);
            let mut is_news =
                |changed, found: Option<&Document>| changed == Name::Waiter(7) && found.is_none();
            let wait = ours.wait_for_any(&name, listing.revision, &mut is_news);
            let heard = timeout(Duration::from_secs(1), wait).await;
            heard.expect("in time").expect("news");
        }
    });
}

#[test]
fn a_survey_from_an_earlier_listing_hears_of_changes_before_the_newest() {
    run(async {
        let table = Stallable::default();
        let (ours, theirs) = (Layer::new(table.clone()), Layer::new(table));
        let name = election();
        let earlier = ours.list(&name, Purpose::Survey).await.expect("a list").revision;
        write(&theirs, Name::Waiter(7), &waiter()).await;
        ours.list(&name, Purpose::Survey).await.expect("a list");
        let mut is_news = |changed, _: Option<&Document>| changed == Name::Waiter(7);
        let wait = ours.wait_for_any(&name, earlier, &mut is_news);
        timeout(Duration::from_secs(1), wait).await.expect("in time").expect("news");
    });
}

#[test]
fn a_change_between_a_look_and_the_wait_is_not_missed() {
    run(async {
        let table = Stallable::default();
        let (ours, theirs) = (Layer::new(table.clone()), Layer::new(table));
        let (name, document) = (election(), Document::Record(Record::default()));
        let version = write(&theirs, Name::Record, &document).await;
        let mut looks = 0;
        let mut is_news = |_, _: Option<&Document>| {
            looks += 1;
            // The row is changed as soon as a look has read it.
            let change = pin!(write(&theirs, Name::Record, &document));
            let changed = change.poll(&mut Context::from_waker(Waker::noop()));
            assert!(changed.is_ready(), "a table in memory answers at once");
            looks == 3
        };
        let wait = ours.wait(&name, Name::Record, version - 1, &mut is_news);
        timeout(Duration::from_secs(60), wait).await.expect("in time").expect("news");
    });
}

#[test]
fn a_wait_ends_if_there_are_no_notices() {
    run(async {
        let table = Stallable { fails_to_tell: true, ..Stallable::default() };
        let layer = Layer::new(table);
        let name = election();
        let mut is_news = |_, _: Option<&Document>| true;
        let waited = layer.wait(&name, Name::Record, 0, &mut is_news).await;
        assert_eq!(waited.expect_err("no notices").kind(), ErrorKind::Unreachable);
    });
}

#[test]
fn a_renewal_says_that_the_cells_are_the_same() {
    run(async {
        let table = Stallable::default();
        let layer = Layer::new(table.clone());
        let text = |version| Some(Text { version, bytes: b"x".to_vec() });
        let mut record = Record { control: text(1), ..Record::default() };
        let mut same = Vec::new();
        let changes: [fn(&mut Record); 4] = [
            |_| {},
            |record| record.token += 1,
            |record| record.control = None,
            |record| record.overwrites += 1,
        ];
        for change in changes {
            change(&mut record);
            write(&layer, Name::Record, &Document::Record(record.clone())).await;
            same.push(table.written.lock().expect("no panic").last().expect("one").has_same_cells);
        }
        assert_eq!(same, [false, true, false, true]);
    });
}

#[test]
fn versions_rise_over_all_documents_of_an_election() {
    run(async {
        let table = Stallable::default();
        // A writer's clock is ahead.
        let mut last = 9_000_000_000_000_000;
        let head = format!(r#"{{"layout":1,"version":{last},"salt":1,"token":1}}"#);
        put(&table.table, Key::LEADER, Body::split(&head)).await;
        let layer = Layer::new(table);
        layer.list(&election(), POLL).await.expect("a list");
        for number in 1..50 {
            let name = if number % 3 == 0 { Name::Record } else { Name::Waiter(number) };
            let record = Document::Record(Record::default());
            let document = if number % 3 == 0 { record } else { waiter() };
            let version = write(&layer, name, &document).await;
            assert!(version > last, "{version} after {last}");
            last = version;
        }
    });
}

#[test]
fn damaged_rows_and_other_layouts_are_refused_and_named() {
    run(async {
        let table = Stallable::default();
        let (layer, election): (_, ElectionName) = (Layer::new(table.clone()), election());
        write(&layer, Name::Waiter(1), &waiter()).await;
        let body = |head: &str, cells: &str| Body::split(&format!("{head}\n{cells}"));
        let newer = r#"{"layout":2,"version":9,"salt":1,"token":1}"#;
        let good = r#"{"layout":1,"version":9,"salt":1,"token":1}"#;
        for (damaged, why) in [
            (body(newer, ""), "layout"),
            (body("", ""), "damaged"),
            (body(good, "{"), "damaged"),
            (body(r#"{"layout":1,"version":9,"salt":1}"#, ""), "token"),
        ] {
            put(&table.table, Key::LEADER, damaged).await;
            for error in [
                layer.read(&election, Name::Record, POLL).await.err(),
                layer.list(&election, POLL).await.err(),
            ] {
                let error = error.expect("refused");
                assert_eq!(error.kind(), ErrorKind::Unfit);
                assert!(error.is_of_a_text(), "{error}");
                assert!(error.to_string().contains(why), "{error}");
            }
        }
        put(&table.table, Key::LEADER, body(good, "")).await;
        put(&table.table, "waiter-0000000000000002", body(newer, "")).await;
        put(&table.table, "unknown", body("", "")).await;
        let listing = layer.list(&election, POLL).await.expect("a list");
        assert_eq!(listing.record.expect("a record").1.token, 1);
        assert_eq!(listing.waiters.len(), 1, "a damaged waiter does not count");
        put(&table.table, Key::DATA, body(good, "{")).await;
        let data = layer.read(&election, Name::Data, POLL).await.expect("an answer");
        let Some(Document::Data(data)) = data.map(|data| data.document) else { panic!("no data") };
        assert!(data.damage.expect("damage").contains("data"));
        // A store that keeps one value for a row.
        let written = table.written.lock().expect("no panic").last().expect("one").clone();
        let expected = Body { has_same_cells: false, ..written.clone() };
        assert_eq!(Body::split(&written.joined()), expected);
    });
}

/// The record, and whether its own waiter is still there.
#[test]
fn the_next_candidate_reads_two_rows_before_it_leads() {
    run(async {
        let (table, clock) = (Stallable::default(), TokioClock::default());
        let seat = async |id: &str| {
            let store = RecordStore::new(TableDocuments::new(table.clone()));
            store.open(&election(), &Candidate::foreign(id), Duration::from_secs(15)).await
        };
        let (mut a, mut b) = (seat("a").await.expect("a seat"), seat("b").await.expect("a seat"));
        a.refresh(clock.now()).await.expect("it leads");
        let mut standing = None;
        for _ in 0..3 {
            standing = Some(b.refresh(clock.now()).await.expect("it waits").standing);
        }
        let Some(Standing::Waiting { wake, .. }) = standing else { panic!("it does not wait") };
        let mut wake = pin!(wake);
        assert!(poll_n_eagerly(50, &mut wake).await.is_none(), "nothing has changed");
        a.resign(None).await.expect("a resign");
        let before = table.reads.load(Ordering::Relaxed);
        wake.await;
        let standing = b.refresh(clock.now()).await.expect("an answer").standing;
        assert!(matches!(standing, Standing::Leading { .. }));
        assert_eq!(table.reads.load(Ordering::Relaxed) - before, 2);
    });
}
