//! A seat reads and writes notes.

use elect_api::{Error, ErrorKind, Note, NoteName, Noted, never};

use super::{EtcdSeat, Stage, Trouble};
use crate::fault::{Doing, Failure};
use crate::link::Attempt;
use crate::note::{self, Found};
use crate::queue::{self, Ask, By};
use crate::watch::{self, Event, Stand};
use crate::whole::whole;

/// More than the notes that a seat may have under way.
const NOTE_TRIES: usize = 8;

impl EtcdSeat {
    pub(super) async fn read_up(&mut self, name: NoteName) -> Result<Note, Error> {
        let keys = self.hall.notes().to_owned();
        let attempt = self.link.attempt(&keys).await?;
        match self.look(&attempt, name).await {
            Ok(note) => {
                attempt.succeed();
                Ok(note)
            }
            Err(failure) => Err(attempt.fail(&failure).await),
        }
    }

    pub(super) async fn write_down(&mut self, name: NoteName, text: &[u8]) -> Result<Noted, Error> {
        let revision = match &self.stage {
            Stage::In(entry) if entry.leads() => entry.revision(),
            Stage::Lost(why) => return Ok(Noted::Gone(why.clone())),
            Stage::In(_) | Stage::Out | Stage::Entering => {
                return Ok(Noted::Gone("we do not lead".into()));
            }
        };
        let attempt = self.link.attempt(self.hall.notes()).await?;
        // What an earlier call has sent, and was dropped since, may be carried out before this or not at all:
        // each takes the place of the note that was there when it was sent.
        for _ in 0..NOTE_TRIES {
            let known = self.notes_seen.get(name.as_str()).copied().unwrap_or(0);
            let ask = Ask::Note { key: self.hall.note(name), seen: known, text: text.to_vec() };
            let txn =
                queue::prove(&self.hall, self.mark(), revision, ask, (attempt.badge(), By::Read));
            let reply = match attempt.client().txn(txn).await.and_then(whole) {
                Ok(reply) => reply,
                Err(cause) => {
                    return Err(attempt.fail(&Failure { doing: Doing::Note, cause }).await);
                }
            };
            if reply.succeeded() {
                attempt.succeed();
                self.notes_seen.insert(name.as_str(), queue::revision_of(&reply));
                return Ok(Noted::Written);
            }
            if let Err(Trouble::Foreign(error)) = attempt.admit_missing(&reply) {
                return Err(attempt.refuse(error));
            }
            let seen = queue::note_seen(&reply);
            if seen == known {
                attempt.succeed();
                return Ok(Noted::Gone(self.lose()));
            }
            self.notes_seen.insert(name.as_str(), seen);
        }
        attempt.succeed();
        Err(Error::new(
            ErrorKind::Unreachable,
            "the note changes as we write it: trying again helps",
        ))
    }

    /// What the store has under the key of a note.
    async fn look(&mut self, attempt: &Attempt, name: NoteName) -> Result<Note, Failure> {
        let Found { text, changed, seen } = note::read(&attempt.client(), &self.hall, name).await?;
        self.notes_seen.insert(name.as_str(), changed);
        let wake = if name.is_vital() {
            let change = Event::Change(self.hall.note(name));
            watch::look_out(&mut self.note, attempt, seen, vec![change], Stand::AtOnce)
        } else {
            never()
        };
        Ok(Note { text, wake })
    }
}
