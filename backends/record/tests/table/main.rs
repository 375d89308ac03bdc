//! The adapter on tables in memory: the laws, and stores that lose what they have acknowledged.

mod bench;
mod crowd;
mod ground;
mod layer;
mod losses;
mod toy;

mod laws {
    use elect_record::table::MemoryTable;
    use elect_testkit::Servers;

    use crate::bench::TableBench;

    async fn bench(_: Servers) -> TableBench {
        TableBench::new(MemoryTable::default())
    }

    elect_testkit::conformance!(bench);
}

mod laws_where_writes_may_be_lost {
    use elect_record::table::MemoryTable;
    use elect_testkit::Servers;

    use crate::bench::TableBench;

    async fn bench(_: Servers) -> TableBench {
        TableBench::new(MemoryTable::lossy())
    }

    elect_testkit::conformance!(bench);
}

mod laws_where_the_table_tells_of_no_change {
    use elect_record::table::MemoryTable;
    use elect_testkit::Servers;

    use crate::bench::TableBench;

    async fn bench(_: Servers) -> TableBench {
        TableBench::mute(MemoryTable::lossy())
    }

    elect_testkit::conformance!(bench);
}

mod laws_of_tables {
    use elect_record::table::MemoryTable;
    use elect_testkit::Servers;

    use crate::ground::MemoryGround;

    async fn ground(_: Servers) -> MemoryGround {
        MemoryGround::new(MemoryTable::default())
    }

    elect_testkit::table_laws!(ground: tells, fails, denies);
}

mod laws_of_tables_where_writes_may_be_lost {
    use elect_record::table::MemoryTable;
    use elect_testkit::Servers;

    use crate::ground::MemoryGround;

    async fn ground(_: Servers) -> MemoryGround {
        MemoryGround::new(MemoryTable::lossy())
    }

    elect_testkit::table_laws!(ground: tells, fails, denies, loses);
}
