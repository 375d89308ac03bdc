use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use elect_api::Versioned;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The content of a cell, in a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// The version, which rises with each write, and never stands for two texts.
    pub version: u64,
    /// The bytes: a string if they are UTF-8, else base64.
    #[serde(serialize_with = "write", deserialize_with = "read")]
    pub bytes: Vec<u8>,
}

impl Text {
    /// The content in the form of the contract.
    pub(crate) fn versioned(&self) -> Versioned {
        Versioned::found(self.bytes.clone(), self.version)
    }
}

/// Bytes that are not UTF-8.
#[derive(Serialize, Deserialize)]
struct Encoded {
    base64: String,
}

fn write<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => serializer.serialize_str(text),
        Err(_) => Encoded { base64: BASE64_STANDARD.encode(bytes) }.serialize(serializer),
    }
}

fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Bytes {
        Text(String),
        Encoded(Encoded),
    }

    match Bytes::deserialize(deserializer)? {
        Bytes::Text(text) => Ok(text.into_bytes()),
        Bytes::Encoded(Encoded { base64 }) => BASE64_STANDARD.decode(base64).map_err(Error::custom),
    }
}
