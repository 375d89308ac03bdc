//! The rows in programs that answer as `DynamoDB` does.

mod creation;
mod items;
mod signature;

use elect_record::table::Table;

/// The table that a URL names.
fn table(url: &str) -> impl Table + use<> {
    elect_dynamodb::table(url).expect("a good URL")
}

mod moto {
    use elect_testkit::Servers;
    use elect_testkit::servers::Moto;
    use elect_testkit::table::{DatabaseGround, Ground};

    async fn ground(servers: Servers) -> impl Ground {
        DatabaseGround::<Moto, _>::with_table(servers, crate::table).await
    }

    elect_testkit::table_laws!(ground: fails);
}

mod dynalite {
    use elect_testkit::Servers;
    use elect_testkit::servers::Dynalite;
    use elect_testkit::table::{DatabaseGround, Ground};

    async fn ground(servers: Servers) -> impl Ground {
        DatabaseGround::<Dynalite, _>::with_table(servers, crate::table).await
    }

    elect_testkit::table_laws!(ground: fails);
}

mod elections {
    use elect_testkit::servers::Moto;
    use elect_testkit::table::DatabaseBench;
    use elect_testkit::{Bench, Servers};

    async fn bench(servers: Servers) -> impl Bench {
        DatabaseBench::<Moto, _>::new(servers, crate::table)
    }

    elect_testkit::conformance!(bench);
}
