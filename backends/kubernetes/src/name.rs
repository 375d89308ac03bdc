//! The names of an election's Leases. Kubernetes requires names of DNS subdomains.
//!
//! The Lease of an election has the election's name, so that other programs find it. A character that such a name
//! cannot have is written as `x--` and two hexadecimal digits. The Leases of waiters append a dot and their nonce, and
//! the Lease of the data appends `.data`.

use std::fmt::Write as _;

use elect_api::{ElectionName, Error, ErrorKind};
use elect_record::Name;

/// The escape of a character that a name cannot have; two hexadecimal digits follow.
const ESCAPE: &str = "x--";
/// The end of the name of the Lease with an election's fences and values.
const DATA: &str = "data";
/// The number of digits of a nonce.
const NONCE: usize = 16;
/// The longest name that Kubernetes accepts.
const LONGEST: usize = 253;
/// The room for the election's name in every Lease's name. A name that fits into one fits into all, whenever they are
/// made.
const ROOM: usize = LONGEST - ".".len() - NONCE;
/// The longest value of a label.
const LONGEST_LABEL: usize = 63;

/// Returns the name of a document's Lease.
///
/// # Errors
/// [`ErrorKind::Unfit`] if it is too long.
pub(crate) fn of(election: &ElectionName, name: Name) -> Result<String, Error> {
    let base = escape(election.as_str());
    let length = base.len();
    let name = match name {
        Name::Record => base,
        Name::Waiter(nonce) => format!("{base}.{nonce:016x}"),
        Name::Data => format!("{base}.{DATA}"),
    };
    if length > ROOM {
        let what = format!(
            "the name of the election {election} takes {length} characters in the name of a Lease, which has {ROOM} for \
             it: capitals and signs, but for hyphens and dots between others, take five each; give it a shorter name \
             with -e"
        );
        return Err(Error::new(ErrorKind::Unfit, what));
    }
    Ok(name)
}

/// Returns the election whose record is in a Lease of this name, if it can be a record.
pub(crate) fn election(name: &str) -> Option<ElectionName> {
    let election: ElectionName = unescape(name)?.parse().ok()?;
    (escape(election.as_str()) == name).then_some(election)
}

/// Returns the nonce of the waiter in a Lease of this name. `base` is the name of the election's Lease.
pub(crate) fn nonce(base: &str, name: &str) -> Option<u64> {
    let digits = name.strip_prefix(base)?.strip_prefix('.')?;
    is_nonce(digits).then(|| u64::from_str_radix(digits, 16).ok())?
}

/// Returns the label by which the Leases of an election are listed; other elections may have the same.
pub(crate) fn label(election: &ElectionName) -> String {
    let mut label = escape(election.as_str());
    if label.len() > LONGEST_LABEL {
        label.truncate(LONGEST_LABEL - 1);
        label.push('x');
    }
    label
}

/// Returns a label that no other election has.
///
/// # Errors
/// [`ErrorKind::Unfit`] if the name is too long.
pub(crate) fn whole_label(election: &ElectionName) -> Result<String, Error> {
    let label = escape(election.as_str());
    if label.len() > LONGEST_LABEL {
        let what = format!(
            "--pod-label: the election {election} has a name that is too long for a label, which has {LONGEST_LABEL} \
             characters at most: give it a shorter one with -e"
        );
        return Err(Error::new(ErrorKind::Unfit, what));
    }
    Ok(label)
}

fn escape(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_plain = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let is_hyphen = |at: Option<usize>| at.and_then(|at| bytes.get(at)) == Some(&b'-');
    let mut escaped = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        let (before, after) = (at.checked_sub(1), Some(at + 1));
        let rest = &text[at..];
        let stays = match byte {
            b'x' => !rest.starts_with(ESCAPE),
            b'a'..=b'z' | b'0'..=b'9' => true,
            b'-' => {
                (is_plain(before) || is_hyphen(before)) && (is_plain(after) || is_hyphen(after))
            }
            b'.' => is_plain(before) && is_plain(after) && !is_reserved(&rest[1..]),
            _ => false,
        };
        if stays {
            escaped.push(char::from(*byte));
        } else {
            let _ = write!(escaped, "{ESCAPE}{byte:02x}");
        }
    }
    escaped
}

/// Returns whether names with this end are reserved for waiters, fences and values.
fn is_reserved(end: &str) -> bool {
    end == DATA || is_nonce(end)
}

fn is_nonce(digits: &str) -> bool {
    digits.len() == NONCE && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn unescape(name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        if let Some(escape) = rest.strip_prefix(ESCAPE) {
            bytes.push(u8::from_str_radix(escape.get(..2)?, 16).ok()?);
            rest = &escape[2..];
        } else {
            let (plain, behind) = rest.split_at(first.len_utf8());
            bytes.extend_from_slice(plain.as_bytes());
            rest = behind;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn name(text: &str) -> ElectionName {
        text.parse().expect("a name")
    }

    fn record(text: &str) -> String {
        of(&name(text), Name::Record).expect("a short name")
    }

    #[test]
    fn plain_names_stay_and_others_are_escaped() {
        for (text, lease) in [
            ("nightly", "nightly"),
            ("kube-scheduler", "kube-scheduler"),
            ("backup.sh", "backup.sh"),
            ("a--b", "a--b"),
            ("x-ray", "x-ray"),
            ("x--ray", "x--78--ray"),
            ("DB", "x--44x--42"),
            ("db:3", "dbx--3a3"),
            ("_x", "x--5fx"),
            ("a.", "ax--2e"),
            ("a..b", "ax--2ex--2eb"),
            ("a-.b", "ax--2dx--2eb"),
            ("a-", "ax--2d"),
            ("jobs.data", "jobsx--2edata"),
            ("jobs.0123456789abcdef", "jobsx--2e0123456789abcdef"),
            ("jobs.0123", "jobs.0123"),
        ] {
            assert_eq!(record(text), lease);
            assert_eq!(election(lease), Some(name(text)), "{lease}");
        }
        for foreign in ["x--61", "x--6e", "a.data", "a.0123456789abcdef", "7"] {
            assert_eq!(election(foreign).map(|name| name.to_string()), None, "{foreign}");
        }
    }

    #[test]
    fn no_two_elections_share_a_lease() {
        let alphabet = ["a", "x", "-", ".", "7", ":", "Z", "--", "data"];
        let mut seen = BTreeSet::new();
        let mut texts = vec![String::from("a")];
        for _ in 0..4 {
            let longer: Vec<String> = texts
                .iter()
                .flat_map(|text| alphabet.map(|piece| format!("{text}{piece}")))
                .collect();
            texts.extend(longer);
        }
        texts.sort();
        texts.dedup();
        for text in texts {
            for kind in [Name::Record, Name::Waiter(0xda7a), Name::Data] {
                let lease = of(&name(&text), kind).expect("a short name");
                assert!(is_subdomain(&lease), "{lease}");
                assert!(seen.insert(lease.clone()), "{lease} of {text}");
            }
        }
    }

    fn is_subdomain(name: &str) -> bool {
        name.split('.').all(|label| {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            label.starts_with(is_plain)
                && label.ends_with(is_plain)
                && label.chars().all(|c| is_plain(c) || c == '-')
        })
    }

    #[test]
    fn labels_are_short_and_waiters_are_found_by_their_nonces() {
        let long = name(&format!("a{}", ":".repeat(30)));
        assert_eq!(label(&name("jobs")), "jobs");
        assert!(label(&long).len() == LONGEST_LABEL && is_subdomain(&label(&long)));
        let waiter = of(&name("jobs"), Name::Waiter(0xbeef)).expect("a short name");
        assert_eq!(waiter, "jobs.000000000000beef");
        assert_eq!(nonce("jobs", &waiter), Some(0xbeef));
        assert_eq!(nonce("job", &waiter), None);
        assert_eq!(nonce("jobs", "jobs.+00000000000beef"), None);
    }

    /// The manual promises this. Leases that are made late, such as those of fences and waiters, must not be the first
    /// to be refused.
    #[test]
    fn a_name_fits_into_all_leases_or_into_none() {
        let kinds = [Name::Record, Name::Waiter(1), Name::Data];
        let longest = |signs: usize| format!("{}{}", "a".repeat(128 - signs), ":".repeat(signs));
        for fitting in [longest(27), format!("a{}", ":".repeat(46))] {
            for kind in kinds {
                assert!(of(&name(&fitting), kind).expect("a name").len() <= LONGEST);
            }
        }
        for kind in kinds {
            let error = of(&name(&longest(28)), kind).expect_err("too long");
            assert_eq!(error.kind(), ErrorKind::Unfit);
            assert!(error.to_string().contains("takes 240 characters"), "{error}");
        }
    }
}
