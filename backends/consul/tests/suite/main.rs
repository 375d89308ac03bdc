//! The rows in a real Consul.

mod refusals;

use elect_record::table::Table;

/// The table that a URL names.
fn table(url: &str) -> impl Table + use<> {
    elect_consul::table(url).expect("a good URL")
}

mod laws {
    use elect_testkit::Servers;
    use elect_testkit::servers::Consul;
    use elect_testkit::table::{DatabaseGround, Ground};

    async fn ground(servers: Servers) -> impl Ground {
        DatabaseGround::<Consul, _>::with_table(servers, crate::table).await
    }

    elect_testkit::table_laws!(ground: tells, fails, denies);
}

mod elections {
    use elect_testkit::servers::Consul;
    use elect_testkit::table::DatabaseBench;
    use elect_testkit::{Bench, Servers};

    async fn bench(servers: Servers) -> impl Bench {
        DatabaseBench::<Consul, _>::new(servers, crate::table)
    }

    elect_testkit::conformance!(bench);
}

/// The laws of tables hold where servers agree on each write, too.
mod three {
    use elect_testkit::servers::ConsulServers;
    use elect_testkit::table::{DatabaseGround, Ground};
    use elect_testkit::{Servers, table_laws};

    async fn ground(servers: Servers) -> impl Ground {
        DatabaseGround::<ConsulServers<3>, _>::with_table(servers, crate::table).await
    }

    table_laws!(ground: tells, fails, denies);
}
