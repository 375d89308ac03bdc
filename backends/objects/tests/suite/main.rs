//! The rows in programs that answer as Amazon S3 does.

mod answers;
mod deletes;
mod doctor;
mod objects;
mod proofs;
mod scripted;

use async_trait::async_trait;
use elect_record::table::{Body, Key, Put, Table};
use elect_testkit::Stall;
use elect_testkit::servers::Rights;
use elect_testkit::table::Ground;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

/// The table that a URL names.
fn table(url: &str) -> impl Table + use<> {
    elect_objects::table(url).expect("a good URL")
}

/// Notes that the server has not proven the condition of a delete. Tables that are opened later write tombstones.
async fn forget_deletes(table: &dyn Table) {
    let id = Key { election: Key::STORE, document: "id" };
    let row = table.get(id).await.expect("an answer").row.expect("an id");
    let cells = row.body.cells.replace("deletes\n", "puts\n");
    assert_ne!(cells, row.body.cells, "it has proven no more than puts");
    let put = table.put(id, "", Some(&row.tag), &Body { cells, ..row.body }).await;
    assert!(matches!(put, Ok(Put::Done(_))), "{put:?}");
}

/// Connections that have proven their way, so that a write is the first request of its call.
struct Prepared<G>(G);

#[async_trait]
impl<G: Ground> Ground for Prepared<G> {
    async fn connect(&self) -> Box<dyn Table> {
        let table = self.0.connect().await;
        table.prepare().await.expect("the right to write");
        table
    }

    async fn cut(&self) -> Stall {
        self.0.cut().await
    }

    async fn silence(&self) -> Stall {
        self.0.silence().await
    }

    async fn connect_as(&self, rights: Rights) -> Box<dyn Table> {
        self.0.connect_as(rights).await
    }
}

mod moto {
    use elect_testkit::Servers;
    use elect_testkit::servers::MotoS3;
    use elect_testkit::table::{DatabaseGround, Ground};

    async fn ground(servers: Servers) -> impl Ground {
        let ground = DatabaseGround::<MotoS3, _>::with_table(servers, crate::table).await;
        crate::forget_deletes(&*ground.connect().await).await;
        crate::Prepared(ground)
    }

    elect_testkit::table_laws!(ground: fails);
}

mod seaweedfs {
    use elect_testkit::Servers;
    use elect_testkit::servers::SeaweedFs;
    use elect_testkit::table::{DatabaseGround, Ground};

    async fn ground(servers: Servers) -> impl Ground {
        let ground = DatabaseGround::<SeaweedFs, _>::with_table(servers, crate::table);
        crate::Prepared(ground.await)
    }

    elect_testkit::table_laws!(ground: fails, denies);
}

mod elections {
    use elect_testkit::servers::SeaweedFs;
    use elect_testkit::table::DatabaseBench;
    use elect_testkit::{Bench, Servers};

    async fn bench(servers: Servers) -> impl Bench {
        DatabaseBench::<SeaweedFs, _>::new(servers, crate::table)
    }

    elect_testkit::conformance!(bench);
}
