use crate::cli::manual::{block, typed};

#[test]
fn the_example_of_the_manual_prints_what_it_shows() {
    let shown = block("daemon", "A command that stays up", "console");
    let printed: Vec<&str> = shown.lines().filter(|line| !line.starts_with('$')).collect();
    assert_eq!(typed(&shown).lines().collect::<Vec<_>>(), printed);
}
