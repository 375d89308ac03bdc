//! The names of candidates: their ids, their labels, and the name of the host.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use elect_api::text;
use nix::unistd::gethostname;

/// A label that a user chose has another form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the label {0:?} is not 1 to 64 printable ASCII characters without spaces and /")]
pub struct LabelError(String);

/// The greatest length of a label, in characters.
const LABEL_MAX: usize = 64;

/// The length of a nonce. There are 32^10 nonces. Among a million candidates at once, two equal ones have
/// a probability of one in two thousand. Two equal ones with the same label are far less likely.
const NONCE_LEN: usize = 10;

/// The letters of Crockford's base 32, none of which looks like another.
const NONCE_LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The name of this machine, as the kernel knows it; `localhost` if it has none.
pub fn host_name() -> String {
    let name = gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name.is_empty() { "localhost".to_owned() } else { text::clean(name, text::NAME) }
}

/// An id for one run: the label and a nonce, so that no two runs share an identity.
pub fn candidate_id(label: &str) -> String {
    // The standard library keys this hash from the system's randomness. fastrand would be seeded
    // from the time since boot, which two clones of a machine can share.
    let random = RandomState::new().hash_one(label);
    let letter =
        |i| char::from(NONCE_LETTERS[usize::try_from((random >> (5 * i)) & 31).unwrap_or(0)]);
    let nonce: String = (0..NONCE_LEN).map(letter).collect();
    format!("{label}-{nonce}")
}

/// Whether people may mean the candidate with this id when they write `text`: its id, or its label.
pub fn is_known_as(id: &str, text: &str) -> bool {
    let rest = id.strip_prefix(text).map(|rest| rest.strip_prefix('-'));
    id == text || rest.flatten().is_some_and(is_nonce)
}

fn is_nonce(text: &str) -> bool {
    text.len() == NONCE_LEN && text.bytes().all(|letter| NONCE_LETTERS.contains(&letter))
}

/// The label in an id of elect's form. Any other id is its own label.
pub fn label_of(id: &str) -> &str {
    id.rsplit_once('-').filter(|(_, nonce)| is_nonce(nonce)).map_or(id, |(label, _)| label)
}

/// Checks a label that the user chose.
pub fn label(text: String) -> Result<String, LabelError> {
    let fits = (1..=LABEL_MAX).contains(&text.len()) && text.chars().all(is_label_char);
    if fits { Ok(text) } else { Err(LabelError(text)) }
}

/// The default label of this machine.
pub fn label_of_host(host: &str) -> String {
    host.chars().map(|c| if is_label_char(c) { c } else { '-' }).take(LABEL_MAX).collect()
}

fn is_label_char(c: char) -> bool {
    c.is_ascii_graphic() && c != '/'
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{LabelError, candidate_id, host_name, is_known_as, label, label_of, label_of_host};

    #[test]
    fn labels_that_stay_one_word_everywhere() {
        for good in ["a", "web-1", "a:b@c!", &"x".repeat(64)] {
            assert_eq!(label(good.to_owned()).as_deref(), Ok(good));
        }
        for bad in ["", "a b", "a/b", "ä", "a\n", "\u{1b}[31m", &"x".repeat(65)] {
            assert_eq!(label(bad.to_owned()), Err(LabelError(bad.to_owned())));
        }
    }

    #[test]
    fn any_host_makes_a_label() {
        assert_eq!(label_of_host("web 1/ä"), "web-1--");
        assert_eq!(label_of(&candidate_id("web-1")), "web-1");
        assert_eq!(label_of("web-1"), "web-1");
        assert_eq!(label_of_host(&"x".repeat(80)).len(), 64);
        assert!(label(label_of_host(&host_name())).is_ok());
    }

    #[test]
    fn ids_differ() {
        let ids: HashSet<String> = (0..1000).map(|_| candidate_id("web")).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 14 && id.starts_with("web-")));
    }

    #[test]
    fn a_candidate_is_known_by_its_id_and_by_its_label() {
        let id = candidate_id("web-1");
        for text in [id.as_str(), "web-1"] {
            assert!(is_known_as(&id, text), "{text}");
        }
        for text in ["", "web", "web-", "web-1-", &id[..id.len() - 1]] {
            assert!(!is_known_as(&id, text), "{text}");
        }
        assert!(is_known_as("7c", "7c") && !is_known_as("web-1-me", "web-1"));
    }
}
