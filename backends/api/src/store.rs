use std::time::Duration;

use async_trait::async_trait;

use crate::{
    Candidate, Cell, Clock, ElectionName, Error, ErrorKind, Examination, If, Keys, Profile, Seat,
    Survey, Ticket, Token, Versioned, Wake, Written, never,
};

/// A place that keeps elections. A value of this type is one connection to it, for one process.
///
/// # One process, one store, one session
///
/// A process opens one store, and takes all its seats from that store (law 16). A session or a lease keeps the entries
/// in the store. All seats with the same TTL share one session, and a survey uses it too where it can. The session
/// begins with the first seat that enters, and ends with the last that resigns.
///
/// The seats share nothing else. Each has its own entry, token and ticket, proves its own entry, and finds out by
/// itself that the session has ended. It anchors each proof at its own `now` or earlier. A resign or a redeemed ticket
/// takes nothing from the other seats. A seat that is no longer refreshed loses its place, as if it had been alone,
/// even if the others go on. A store without sessions, in which an entry lasts as long as its seat, has nothing to
/// share.
#[async_trait]
pub trait Store: Send + Sync {
    /// What this store is and can do, as far as it is known. Makes no request.
    fn profile(&self) -> Profile;

    /// Prepares to take part in `election`. No entry exists before the first [`Seat::refresh`].
    ///
    /// `ttl` is the length of lease to request. A store with unlimited leases ignores it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unreachable`] if trying again may help; `Denied` and `Unfit` if not.
    ///
    /// # Cancellation
    /// Dropping the future leaves nothing behind that blocks a candidate.
    async fn open(
        &self,
        election: &ElectionName,
        candidate: &Candidate,
        ttl: Duration,
    ) -> Result<Box<dyn Seat>, Error>;

    /// The leader and the waiting candidates. Disturbs no candidate (law 9). An election that no candidate ever entered
    /// is empty.
    ///
    /// # Ordering
    /// The result is a state from after the call: no server answers from a cache. A store that cannot rule that out
    /// completely says so in its documentation.
    ///
    /// # Errors
    /// As [`Store::open`]. Damaged entries are left out, and are no error. More than [`Survey::MOST`] entries may be
    /// refused. A store to which others can write refuses them.
    async fn survey(&self, election: &ElectionName) -> Result<Survey, Error>;

    /// Removes an entry, or everything that is kept for an election. [`Removal`] says which, and under which law. Does
    /// nothing if the object is gone, or never was.
    ///
    /// # Errors
    /// As [`Store::open`]. `Unfit` if the entry lasts as long as its holder lives, or was renewed after it was judged
    /// to be over. `Unfit` also if the election has fences that must stay. `Unreachable` also if everything was to be
    /// removed, and a candidate is in the election.
    ///
    /// # Cancellation
    /// The outcome is unknown. The call may be repeated.
    async fn remove(&self, election: &ElectionName, what: Removal<'_>) -> Result<(), Error>;

    /// Watches an election. The wake ends once the election may have changed after this call returned: a candidate came
    /// or went, a leadership began or ended, or a watched cell ([`Cell::is_watched`]) was written. The wake is a hint
    /// (law 4). The watch disturbs no candidate (law 9).
    ///
    /// To miss no change, call this first, and then [`Store::survey`]. Survey from time to time as well, because a wake
    /// may be lost.
    ///
    /// # Errors
    /// As [`Store::open`].
    ///
    /// # Cancellation
    /// Neither the future nor the wake leaves anything behind when it is dropped.
    async fn changed(&self, election: &ElectionName) -> Result<Wake, Error> {
        let _ = election;
        Ok(never())
    }

    /// Reads a cell of an election. The result includes every write from before the call. Needs no candidate's rights,
    /// disturbs no candidate, and makes nothing.
    ///
    /// # Errors
    /// As [`Store::open`], and `Unfit` if the store holds something there that elect did not write.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn read(&self, election: &ElectionName, cell: Cell<'_>) -> Result<Versioned, Error>;

    /// Replaces the content of a cell by at most [`Cell::LONGEST`] bytes, in one step with the proof that the condition
    /// holds. [`If`] says which condition each cell takes. The election needs no candidate, now or earlier, except for
    /// the leader that [`If::Leads`] names. The cells of a leader's seat are written with [`Seat::write`] alone.
    ///
    /// # Errors
    /// As [`Store::open`], and `Unfit` if the text is too long, or the condition does not suit this cell. After
    /// [`crate::ErrorKind::Ambiguous`] the bytes may have been written. [`Store::read`] tells, unless another writer
    /// has written since. Under [`If::Leads`] writing the same bytes again has the same outcome.
    ///
    /// # Cancellation
    /// Dropping the future is an ambiguous outcome. Once other bytes are written, or another candidate leads, the
    /// dropped call does not write any more.
    async fn write(
        &self,
        election: &ElectionName,
        cell: Cell<'_>,
        bytes: &[u8],
        condition: If,
    ) -> Result<Written, Error>;

    /// The elections of this [`Scope`], each once, sorted by name. Disturbs no candidate and makes nothing. A store
    /// without elections returns an empty list.
    ///
    /// # Errors
    /// As [`Store::open`].
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn list(&self, scope: Scope) -> Result<Vec<ElectionName>, Error>;

    /// The keys under which an election keeps fences and values. Disturbs no candidate and makes nothing.
    ///
    /// # Errors
    /// As [`Store::open`].
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn keys(&self, election: &ElectionName) -> Result<Keys, Error>;

    /// Makes what holds the elections of this store, if it is missing. A place that costs something is made by this
    /// call alone: then it returns what it has made, for people. Other places are made by the first candidate, too, and
    /// this call returns `None`.
    ///
    /// # Errors
    /// As [`Store::open`]. After `Ambiguous` it may have been made.
    ///
    /// # Cancellation
    /// The outcome is unknown. The call may be repeated.
    async fn create(&self) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// Examines each place of the store (law 12): whether and how fast it answers, its version, known faults of that
    /// version, the leases that it grants, and its limited resources. An endpoint without an answer within some seconds
    /// counts as one that does not answer. That is no error of this call.
    ///
    /// The store calls `clock` just before a question and just after its answer.
    ///
    /// A store without anything to report returns an empty examination.
    ///
    /// # Errors
    /// As [`Store::open`], if no endpoint can be asked at all.
    ///
    /// # Cancellation
    /// May be dropped at any time. Anything that the call has opened at a server ends by itself.
    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        let _ = clock;
        Ok(Examination::default())
    }
}

/// The object that [`Store::remove`] removes.
#[derive(Clone, Copy, Debug)]
pub enum Removal<'a> {
    /// The entry of a candidate that crashed, whose command tree is proven dead. The next candidate can lead once it is
    /// removed. If the death of a process frees its place, there is nothing to remove.
    Crashed(&'a Ticket),
    /// The entry of the leader that has this token. The store tells its holder nothing (law 13). If the holder lives,
    /// its command may run beside the next leader's command, until the holder finds out. The caller knows that the
    /// holder is gone, or a person accepts that risk.
    Leader {
        /// The token of the leader.
        token: Token,
        /// The mark of an entry that the caller has judged to be over ([`Ending::Judged`](crate::Ending::Judged)). An
        /// entry with another mark was renewed since, and stays. `None` if the caller has judged nothing.
        mark: Option<u64>,
    },
    /// Everything that the store keeps for an election without candidates: its cells and its place in the store. The
    /// parents of that place go too, if they were made for this election only. A later candidate finds an election that
    /// seems new, with two exceptions. Tokens still rise, and the store keeps its [id](crate::StoreId), by which others
    /// may know it. An election that no candidate ever entered stays as it is.
    ///
    /// One step checks the conditions and removes everything. The conditions are that no candidate is in the election,
    /// and that it has no fences that must stay. A candidate that enters at the same time, or a caller of a fence,
    /// either finds everything gone or keeps everything.
    Everything {
        /// Whether the fences of the election may go too. If not, an election with a fence stays as it is, because
        /// without the fence a stale token would pass.
        fences: bool,
    },
    /// Everything, with the fences, of an election whose name no candidate uses again. So its tokens need not rise any
    /// more, and a store keeps nothing of it as far as it may remove records.
    Scratch,
}

/// The elections that [`Store::list`] lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The elections that have or had candidates in this store. An election with requests, but without any candidate so
    /// far, is not among them.
    Entered,
    /// The elections with a [`Cell::Control`], even if no candidate ever entered them (law 11).
    Asked,
    /// The elections with any [`Cell`], even if they have no candidate now.
    Kept,
}

impl Removal<'_> {
    /// Returns whether the fences of the election may go too.
    pub const fn takes_fences(&self) -> bool {
        matches!(self, Self::Everything { fences: true } | Self::Scratch)
    }

    /// The error of a store in which an entry lasts as long as its holder lives.
    pub fn refuse(election: &ElectionName) -> Error {
        let what = format!(
            "an entry of {election} lasts as long as a process of its holder lives, and cannot be removed from \
             outside: end that process"
        );
        Error::new(ErrorKind::Unfit, what)
    }

    /// The error for an election with this fence, if its fences must stay.
    pub fn refuse_fence(election: &ElectionName, resource: &str) -> Error {
        let what =
            format!("{election} has a fence of {resource}: without it a stale token would pass");
        Error::new(ErrorKind::Unfit, what)
    }
}
