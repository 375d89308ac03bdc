//! Encodes bytes as hexadecimal digits, so that a reply with the longest text fits into a socket.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[expect(clippy::ref_option, reason = "serde calls it with what the field is")]
pub(super) fn serialize<S: Serializer>(
    text: &Option<Vec<u8>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let digits = |bytes: &Vec<u8>| -> String {
        let both = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        both.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
    };
    text.as_ref().map(digits).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<u8>>, D::Error> {
    let Some(digits) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2);
        pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    bytes.map(Some).ok_or_else(|| D::Error::custom("no pairs of hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use crate::sim::message::Slip;

    #[test]
    fn what_is_said_is_what_is_heard() {
        for text in [None, Some(Vec::new()), Some((0..=u8::MAX).collect())] {
            let slip = Slip { version: 7, text };
            let line = serde_json::to_string(&slip).expect("a line");
            assert_eq!(serde_json::from_str::<Slip>(&line).expect("a slip"), slip);
        }
        for bad in ["0", "0g", "\u{fc}0"] {
            let line = format!("{{\"version\":1,\"text\":\"{bad}\"}}");
            assert!(serde_json::from_str::<Slip>(&line).is_err(), "{bad}");
        }
    }
}
