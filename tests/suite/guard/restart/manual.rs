use crate::cli::manual::{block, typed};

#[test]
fn what_the_manual_shows_is_what_happens() {
    let shown = block("daemon", "A command that stays up", "console");
    let printed: Vec<&str> = shown.lines().filter(|line| !line.starts_with('$')).collect();
    assert_eq!(typed(&shown).lines().collect::<Vec<_>>(), printed);
}
