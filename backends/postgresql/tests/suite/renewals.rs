//! The table after many renewals: as small as before, without any help of vacuum, which these servers do not run.

use elect_record::table::{Body, Key, Put, Table as _};
use elect_testkit::program::eventually;
use elect_testkit::run;
use elect_testkit::servers::Postgres;

use crate::table;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };
/// `ELECT_RENEWALS=1000000` takes some minutes.
const RENEWALS: u32 = 1000;

#[test]
fn renewals_leave_the_table_small_and_the_cells_alone() {
    let asked = std::env::var("ELECT_RENEWALS").ok();
    let renewals = asked.map_or(RENEWALS, |asked| asked.parse().expect("a number"));
    let server = Postgres::start();
    let size = || -> u64 {
        let size = "SELECT pg_total_relation_size('elect.document')";
        server.ask(size).parse().expect("a number")
    };
    // No compression makes them short.
    let letters = std::iter::repeat_with(fastrand::alphanumeric).take(100_000);
    let body = Body { head: "{}".repeat(100), cells: letters.collect(), ..Body::default() };
    let url = format!("postgresql://elect@{}/postgres", server.address());
    let mut first = None;
    // `run` ends a test after a minute, so each thousand has its own.
    for part in 0..renewals.div_ceil(RENEWALS) {
        run("renewals", async {
            let ours = table(&url);
            if part == 0 {
                ours.prepare().await.expect("the right to make it");
            }
            let found = ours.get(ROW).await.expect("an answer");
            let epoch = found.epoch.name;
            let mut tag = found.row.map(|row| row.tag);
            if tag.is_none() {
                let put = ours.put(ROW, &epoch, None, &body).await.expect("an answer");
                let Put::Done(done) = put else { panic!("{put:?}") };
                tag = Some(done);
                first = Some(size());
            }
            let renewal = Body { has_same_cells: true, is_renewal: true, ..body.clone() };
            for _ in 0..RENEWALS {
                let put = ours.put(ROW, &epoch, tag.as_ref(), &renewal).await.expect("an answer");
                let Put::Done(done) = put else { panic!("{put:?}") };
                tag = Some(done);
            }
        });
    }
    let (before, after) = (first.expect("a first size"), size());
    println!("{renewals} renewals: {before} bytes before, {after} bytes after");
    assert!(after <= before + 64 * 1024, "{before} bytes before, {after} after");
    // Each was written in its page, and changed no index.
    let counts = "SELECT n_tup_upd || ' ' || n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'document'";
    let all = renewals.div_ceil(RENEWALS) * RENEWALS;
    eventually("the counts of the server", || {
        let counts = server.ask(counts);
        let mut counts = counts.split(' ').map(|it| it.parse::<u32>().expect("a number"));
        let (updates, hot) = (counts.next()?, counts.next()?);
        (updates == all).then(|| assert!(hot * 100 >= updates * 99, "{hot} of {updates} in place"))
    });
}
