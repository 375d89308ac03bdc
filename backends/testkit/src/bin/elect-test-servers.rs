//! Holds servers for tests that run meanwhile: prints what `ELECT_TEST_SERVERS` is to be for them, and ends with its
//! standard input.

fn main() -> std::io::Result<()> {
    elect_testkit::servers::hold()
}
