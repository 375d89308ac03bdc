use std::time::Duration;

use elect_api::{Boottime, Standing, Token, Validity, Wake, stamp};
use etcd_client::TxnResponse;

use crate::layout::Keyspace;
use crate::link::Attempt;
use crate::queue::{self, Ask, Before, Rival, Room, Unclear};
use crate::value::Value;
use crate::watch::{self, Begin, Event, Watch};

/// An entry of this candidate that etcd has shown.
pub(crate) struct Entry {
    /// Its key, and the revision at which it was created: its place, and its token once it leads.
    own: Rival,
    /// The granted TTL.
    window: Duration,
    /// The candidates before this one, as last seen.
    before: Option<Before>,
    /// The key of the control cell.
    control: String,
    /// The watch on the nearest candidate before this one, or on the leader's own key, and on the control cell.
    watch: Option<Watch>,
    leading: Option<Leading>,
}

struct Leading {
    /// Milliseconds since 1970.
    since: u64,
    /// Whether the entry states `since`, or may state it. elect writes it only once, so that a full store, which takes
    /// no writes, still keeps its leader.
    states_since: bool,
}

impl Entry {
    pub(crate) const fn new(own: Rival, window: Duration, control: String) -> Self {
        Self { own, window, before: None, control, watch: None, leading: None }
    }

    pub(crate) const fn revision(&self) -> i64 {
        self.own.revision
    }

    pub(crate) const fn window(&self) -> Duration {
        self.window
    }

    pub(crate) const fn leads(&self) -> bool {
        self.leading.is_some()
    }

    /// Returns the question of the next renewal.
    pub(crate) fn ask(&mut self, value: &Value, room: Room) -> Ask<'_> {
        match (&mut self.leading, self.before.as_ref().and_then(Before::by_name)) {
            (Some(Leading { states_since: true, .. }), _) => Ask::Nothing(None),
            (Some(leading), _) => {
                leading.states_since = true;
                Ask::Nothing(Some(value.won(leading.since).to_bytes()))
            }
            (None, Some(rivals)) => Ask::Rivals(rivals),
            (None, None) => Ask::Before(room),
        }
    }

    /// Reads the candidates before this one from the answer to the question of [`Entry::ask`].
    pub(crate) fn read(
        &self,
        keyspace: &Keyspace,
        room: Room,
        reply: &TxnResponse,
    ) -> Result<Before, Unclear> {
        if self.leads() {
            // No candidate can come before the first one.
            return Ok(Before::All(Vec::new()));
        }
        match &self.before {
            Some(before) if before.by_name().is_some() => before.left(reply).ok_or(Unclear(room)),
            _ => queue::first_listed(keyspace, self.own.revision, reply),
        }
    }

    /// Returns the standing, by an answer that came over `attempt` and shows the store at revision `seen`.
    pub(crate) fn stand(
        &mut self,
        attempt: &Attempt,
        now: Boottime,
        seen: i64,
        before: Before,
    ) -> Standing {
        let Some(nearest) = before.nearest().cloned() else {
            self.before = None;
            self.leading
                .get_or_insert_with(|| Leading { since: stamp::display(), states_since: false });
            let token = Token::new(self.own.revision.unsigned_abs());
            let validity = Validity::Window { anchor: now, window: self.window };
            let wake = self.watch_for(attempt, seen, self.own.clone(), Begin::Later);
            return Standing::Leading { token, validity, wake };
        };
        let ahead = before.count();
        self.before = Some(before);
        let wake = self.watch_for(attempt, seen, nearest, Begin::AtOnce);
        Standing::Waiting { ahead, alive: true, wake }
    }

    /// Returns a wake that ends when the key is gone, or when the control cell changes.
    fn watch_for(&mut self, attempt: &Attempt, seen: i64, rival: Rival, begin: Begin) -> Wake {
        let events = vec![Event::End(rival), Event::Change(self.control.clone())];
        watch::watch_for(&mut self.watch, attempt, seen, events, begin)
    }
}
