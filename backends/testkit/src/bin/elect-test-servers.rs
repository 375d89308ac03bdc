//! Holds servers for tests. Prints the value of `ELECT_TEST_SERVERS` for them, and ends when its standard input
//! does.

fn main() -> std::io::Result<()> {
    elect_testkit::servers::hold()
}
