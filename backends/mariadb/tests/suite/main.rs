//! The table in a real MariaDB.

mod failover;
mod refusals;
mod wakes;

use elect_record::table::Table;
use elect_testkit::program::eventually;
use elect_testkit::servers::MariaDb;

/// The table that a URL names.
fn table(url: &str) -> impl Table + use<> {
    elect_mariadb::table(url).expect("a good URL")
}

/// Waits for the second after the table's birth, which is told in seconds.
fn let_a_second_pass(server: &MariaDb) {
    let born = "(SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.TABLES WHERE table_name = 'elect')";
    eventually("the next second", || {
        (server.ask(&format!("SELECT UNIX_TIMESTAMP() > {born}")) == "1").then_some(())
    });
}

mod laws {
    use elect_testkit::Servers;
    use elect_testkit::servers::MariaDb;
    use elect_testkit::table::{DatabaseGround, Ground};

    async fn ground(servers: Servers) -> impl Ground {
        DatabaseGround::<MariaDb, _>::with_table(servers, crate::table).await
    }

    elect_testkit::table_laws!(ground: fails, loses, denies);
}

mod elections {
    use elect_testkit::servers::MariaDb;
    use elect_testkit::table::DatabaseBench;
    use elect_testkit::{Bench, Servers};

    async fn bench(servers: Servers) -> impl Bench {
        DatabaseBench::<MariaDb, _>::new(servers, crate::table)
    }

    elect_testkit::conformance!(bench);
}
