use serde::{Deserialize, Serialize};

use crate::Division;
use crate::text::{NAME, WORDS, clean};

/// Who takes part: what [`crate::Store::survey`] will show of one `elect run`.
///
/// It carries no secret: whoever may read the store may read all of it. What is empty, or 0, is not
/// known: see [`Candidate::foreign`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Unique to this run: a label that people know, and a nonce.
    pub id: String,
    /// The name of the machine.
    pub host: String,
    /// The process id of the wrapper, in its own pid namespace.
    pub pid: u32,
    /// The program that it wants to run, without its arguments, which may be secret.
    pub command: String,
    /// The containment that holds the command's descendants.
    pub containment: String,
    /// Among those who wait the greatest leads first; 0 never leads.
    #[serde(default = "usual_priority", skip_serializing_if = "is_usual_priority")]
    pub priority: u32,
    /// Into what it takes the election to be divided.
    #[serde(default, skip_serializing_if = "Division::is_whole")]
    pub division: Division,
}

const fn usual_priority() -> u32 {
    Candidate::USUAL_PRIORITY
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_usual_priority(priority: &u32) -> bool {
    *priority == Candidate::USUAL_PRIORITY
}

impl Candidate {
    /// The priority of whoever does not say.
    pub const USUAL_PRIORITY: u32 = 100;

    /// Somebody of whom only this is known: a program other than elect that shares the election.
    pub fn foreign(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            host: String::new(),
            pid: 0,
            command: String::new(),
            containment: String::new(),
            priority: Self::USUAL_PRIORITY,
            division: Division::Whole,
        }
    }

    /// The same with texts that are [clean](crate::text), as surveys show them. A candidate of ours is so from its
    /// beginning, and finds itself by its id.
    #[must_use]
    pub fn cleaned(self) -> Self {
        Self {
            id: clean(self.id, NAME),
            host: clean(self.host, NAME),
            command: clean(self.command, WORDS),
            containment: clean(self.containment, NAME),
            ..self
        }
    }

    /// Whether it is a program other than elect, which reads no control cell.
    pub fn is_foreign(&self) -> bool {
        self.host.is_empty()
    }
}
