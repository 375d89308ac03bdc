//! The table in a real PostgreSQL.

mod bench;
mod failover;
mod ground;
mod refusals;

mod laws {
    use elect_testkit::Servers;

    use crate::ground::PostgresGround;

    async fn ground(servers: Servers) -> PostgresGround {
        let ground = PostgresGround::new(servers);
        ground.make_table().await;
        ground
    }

    elect_testkit::table_laws!(ground: tells, fails, loses, denies);
}

mod elections {
    use elect_testkit::Servers;

    use crate::bench::PostgresBench;

    async fn bench(servers: Servers) -> PostgresBench {
        PostgresBench::new(servers)
    }

    elect_testkit::conformance!(bench);
}
