//! The table in a real PostgreSQL.

mod failover;
mod refusals;
mod renewals;

use elect_record::table::Table;

/// The table that a URL names.
fn table(url: &str) -> impl Table + use<> {
    elect_postgresql::table(url).expect("a good URL")
}

mod laws {
    use elect_testkit::Servers;
    use elect_testkit::servers::Postgres;
    use elect_testkit::table::{DatabaseGround, Ground};

    async fn ground(servers: Servers) -> impl Ground {
        DatabaseGround::<Postgres, _>::with_table(servers, crate::table).await
    }

    elect_testkit::table_laws!(ground: tells, fails, loses, denies);
}

/// Behind a pooler in transaction mode, which passes on no notices.
mod pooled {
    use elect_testkit::Servers;
    use elect_testkit::servers::{PgBouncer, Postgres};
    use elect_testkit::table::{DatabaseGround, Ground};

    async fn ground(servers: Servers) -> impl Ground {
        let ground = DatabaseGround::<Postgres, _>::with_table(servers, crate::table).await;
        ground.behind(PgBouncer::start)
    }

    elect_testkit::table_laws!(ground: fails, loses);
}

mod elections {
    use elect_testkit::servers::Postgres;
    use elect_testkit::table::DatabaseBench;
    use elect_testkit::{Bench, Servers};

    async fn bench(servers: Servers) -> impl Bench {
        DatabaseBench::<Postgres, _>::new(servers, crate::table)
    }

    elect_testkit::conformance!(bench);
}
