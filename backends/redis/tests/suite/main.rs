//! The rows in a real Redis.

mod moves;
mod refusals;

use elect_record::table::Table;

/// The table that a URL names.
fn table(url: &str) -> impl Table + use<> {
    elect_redis::table(url).expect("a good URL")
}

mod laws {
    use elect_testkit::Servers;
    use elect_testkit::servers::Redis;
    use elect_testkit::table::{DatabaseGround, Ground};

    async fn ground(servers: Servers) -> impl Ground {
        DatabaseGround::<Redis, _>::with_table(servers, crate::table).await
    }

    elect_testkit::table_laws!(ground: tells, fails, loses, denies);
}

mod elections {
    use elect_testkit::servers::Redis;
    use elect_testkit::table::DatabaseBench;
    use elect_testkit::{Bench, Servers};

    async fn bench(servers: Servers) -> impl Bench {
        DatabaseBench::<Redis, _>::new(servers, crate::table)
    }

    elect_testkit::conformance!(bench);
}

/// The laws of tables hold of Valkey, too.
mod valkey {
    use elect_testkit::servers::Valkey;
    use elect_testkit::table::{DatabaseGround, Ground};
    use elect_testkit::{Servers, table_laws};

    async fn ground(servers: Servers) -> impl Ground {
        DatabaseGround::<Valkey, _>::with_table(servers, crate::table).await
    }

    table_laws!(ground: tells, fails, loses, denies);
}
