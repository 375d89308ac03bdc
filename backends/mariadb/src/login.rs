//! How a client proves that it knows the password, by the server's plugin.

use aws_lc_rs::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};

pub(crate) const NATIVE: &str = "mysql_native_password";
pub(crate) const SHA2: &str = "caching_sha2_password";
/// The first byte of a packet with a further step of the login.
pub(crate) const MORE: u8 = 1;
/// The proof was right.
pub(crate) const ACCEPTED: u8 = 3;
/// The server wants the password itself.
pub(crate) const WHOLE: u8 = 4;

/// The proof for a salt; `None` if elect does not know the plugin.
pub(crate) fn proof(plugin: &str, password: &str, salt: &[u8]) -> Option<Vec<u8>> {
    let hash = |algorithm: &'static Algorithm, parts: &[&[u8]]| -> Vec<u8> {
        digest(algorithm, &parts.concat()).as_ref().to_vec()
    };
    let mixed = |algorithm: &'static Algorithm, is_salt_first: bool| {
        let once = hash(algorithm, &[password.as_bytes()]);
        let twice = hash(algorithm, &[&once]);
        let parts = if is_salt_first { [salt, &twice] } else { [&twice, salt] };
        let mask = hash(algorithm, &parts);
        once.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
    };
    match plugin {
        NATIVE | SHA2 if password.is_empty() => Some(Vec::new()),
        NATIVE => Some(mixed(&SHA1_FOR_LEGACY_USE_ONLY, true)),
        SHA2 => Some(mixed(&SHA256, false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    #[test]
    fn proofs_are_those_of_other_clients() {
        let salt: Vec<u8> = (1..=20).collect();
        let proof = |plugin, password| proof(plugin, password, &salt).map(|proof| hex(&proof));
        assert_eq!(
            proof(NATIVE, "hush").as_deref(),
            Some("fdbfe19e86bedabf2f2d0f0cc13bc0dfa0e8872a")
        );
        assert_eq!(
            proof(SHA2, "hush").as_deref(),
            Some("2b4f7de5253ac973bc2af558cdfb3b50b5b688932d6515bf8d08223d7fff3d1b")
        );
        assert_eq!(proof(SHA2, "").as_deref(), Some(""));
        assert_eq!(proof("client_ed25519", "hush"), None);
    }
}
