use std::collections::BTreeMap;
use std::time::Duration;

use elect_api::ElectionName;

use super::Leads;
use crate::sim::message::{Cause, Leadership};

/// All leaderships so far.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    tenures: Vec<Leadership>,
    /// The indices of the leaderships that still last.
    open: BTreeMap<ElectionName, usize>,
}

impl History {
    pub(super) fn tenures(&self) -> &[Leadership] {
        &self.tenures
    }

    /// Records who leads at `now`. If that is another candidate than before, `cause` is the reason.
    pub(super) fn note(
        &mut self,
        now: Duration,
        election: &ElectionName,
        cause: Cause,
        leads: Option<Leads>,
    ) {
        if let Some(&open) = self.open.get(election) {
            let tenure = &mut self.tenures[open];
            match &leads {
                Some(leads) if leads.token == tenure.token => {
                    tenure.lease_end = leads.lease_end;
                    return;
                }
                _ => {
                    tenure.over = Some((now, cause));
                    self.open.remove(election);
                }
            }
        }
        if let Some(Leads { token, nonce, candidate, lease_end }) = leads {
            self.open.insert(election.clone(), self.tenures.len());
            self.tenures.push(Leadership {
                election: election.clone(),
                candidate,
                token,
                nonce,
                from: now,
                lease_end,
                over: None,
            });
        }
    }
}
