use crate::readme::{block, typed};

#[test]
fn what_readme_shows_is_what_happens() {
    let shown = block("A command that stays up", "console");
    let printed: Vec<&str> = shown.lines().filter(|line| !line.starts_with('$')).collect();
    assert_eq!(typed(&shown).lines().collect::<Vec<_>>(), printed);
}
