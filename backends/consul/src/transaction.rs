//! Transactions of the KV, and what comes back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde_json::{Value, json};

/// The longest request that each server takes, unless its settings say other.
const LONGEST: usize = 512 << 10;

/// The operations of one transaction.
#[derive(Clone, Default)]
pub(crate) struct Transaction {
    operations: Vec<Value>,
    /// Whether the first one compares the id.
    pub(crate) is_checked: bool,
}

/// What a transaction answers.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Outcome {
    #[serde(default)]
    results: Option<Vec<OneResult>>,
    #[serde(default)]
    pub(crate) errors: Option<Vec<Mistake>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct OneResult {
    kv: Pair,
}

/// A key and what it has.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Pair {
    pub(crate) key: String,
    value: Option<String>,
    pub(crate) modify_index: u64,
}

/// Why nothing was done.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Mistake {
    pub(crate) op_index: usize,
    pub(crate) what: String,
}

impl Transaction {
    /// One that does nothing unless the id has this index; `None`: whatever the id is.
    pub(crate) fn of_store(id: &str, index: Option<u64>) -> Self {
        let mut transaction = Self { operations: Vec::new(), is_checked: index.is_some() };
        if let Some(index) = index {
            transaction.add(&json!({"Verb": "check-index", "Key": id, "Index": index}));
        }
        transaction
    }

    fn add(&mut self, operation: &Value) {
        self.operations.push(json!({"KV": operation}));
    }

    /// Reads all keys that begin so.
    pub(crate) fn read(&mut self, key: &str) {
        self.add(&json!({"Verb": "get-tree", "Key": key}));
    }

    /// Writes a key that was changed last at this index; 0: that is not there.
    pub(crate) fn write(&mut self, key: &str, index: i64, text: &str) {
        let (value, salt) = (BASE64.encode(text), salt());
        let write =
            json!({"Verb": "cas", "Key": key, "Index": index, "Value": value, "Flags": salt});
        self.add(&write);
    }

    /// Removes a key that was changed last at this index, or that is not there.
    pub(crate) fn delete(&mut self, key: &str, index: i64) {
        self.add(&json!({"Verb": "delete-cas", "Key": key, "Index": index}));
    }

    /// Removes all keys that begin so.
    pub(crate) fn delete_all(&mut self, key: &str) {
        self.add(&json!({"Verb": "delete-tree", "Key": key}));
    }

    /// Changes a key without a value.
    pub(crate) fn touch(&mut self, key: &str) {
        self.add(&json!({"Verb": "set", "Key": key, "Flags": salt()}));
    }

    /// The request.
    pub(crate) fn body(&self) -> String {
        Value::Array(self.operations.clone()).to_string()
    }

    /// Whether the text of a row is too long for a request.
    pub(crate) const fn is_too_long(text: &str) -> bool {
        // Base64 makes four bytes of three. The rest is left for the other operations.
        text.len().div_ceil(3) * 4 > LONGEST - (8 << 10)
    }
}

/// The flags of a write. A write of the same value and flags is no change for Consul: the index stays.
pub(crate) fn salt() -> u32 {
    fastrand::u32(..)
}

impl Outcome {
    pub(crate) fn of(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    /// What was read or written. A key that was only compared has no value.
    pub(crate) fn pairs(self) -> Vec<Pair> {
        self.results.unwrap_or_default().into_iter().map(|entry| entry.kv).collect()
    }
}

/// The keys in an answer that is no transaction's.
pub(crate) fn pairs(body: &[u8]) -> Option<Vec<Pair>> {
    serde_json::from_slice(body).ok()
}

impl Pair {
    pub(crate) fn text(&self) -> Option<String> {
        let bytes = BASE64.decode(self.value.as_deref()?).ok()?;
        String::from_utf8(bytes).ok()
    }
}
