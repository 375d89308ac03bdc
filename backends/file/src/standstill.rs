use std::fs;

/// Whether the process with this id is stopped, by a signal or by who traces it. One that is not to be seen
/// counts as running; in another pid namespace the id may be another process's, so this is for what does no
/// harm when it is wrong.
pub(crate) fn is_stopped(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| is_of_stopped(&stat))
}

/// Reads the state behind the name, which may have anything in it.
fn is_of_stopped(stat: &str) -> bool {
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('T' | 't'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_behind_the_name() {
        assert!(is_of_stopped("12 (elect) T 1 12"));
        assert!(is_of_stopped("12 (a) S (b) t 1 12"));
        for going_on in ["12 (T) S 1", "12 () T) R 1", "", "12 (T", ") "] {
            assert!(!is_of_stopped(going_on), "{going_on}");
        }
        assert!(!is_stopped(std::process::id()) && !is_stopped(0));
    }
}
