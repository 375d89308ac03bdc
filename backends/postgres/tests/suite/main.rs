//! The table in a real PostgreSQL.

mod ground;

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
