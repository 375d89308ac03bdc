//! The page of the manual about `elect simulate`, with what it prints.

use std::fs;
use std::path::Path;

use crate::tables::{page, refreshed};

#[test]
fn the_page_of_simulate_is_written() {
    let fresh = refreshed(&page(), |_| true);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/manual/simulate.md");
    fs::write(file, fresh).expect("a page");
}
