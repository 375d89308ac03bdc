use std::collections::BTreeMap;

use elect_api::Key;

use crate::sim::message::Slip;

/// What an election keeps for its leaders, apart from its entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    /// The greatest token that came for each resource.
    fences: BTreeMap<Key, u64>,
    values: BTreeMap<Key, Slip>,
}

impl Data {
    /// Records a token, unless a greater one is recorded; the greatest.
    pub(super) fn fence(&mut self, resource: &Key, token: u64) -> u64 {
        let greatest = self.fences.entry(resource.clone()).or_default();
        *greatest = token.max(*greatest);
        *greatest
    }

    pub(super) fn value(&self, key: &Key) -> Slip {
        self.values.get(key).cloned().unwrap_or_default()
    }

    /// Writes a value in place of that of this version; whether it did.
    pub(super) fn write(&mut self, key: &Key, expect: u64, slip: Slip) -> bool {
        let is_expected = self.value(key).version == expect;
        if is_expected {
            self.values.insert(key.clone(), slip);
        }
        is_expected
    }
}
