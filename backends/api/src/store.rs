use std::time::Duration;

use async_trait::async_trait;

use crate::{
    Candidate, Cell, Clock, ElectionName, Error, ErrorKind, Examination, If, Keys, Profile, Seat,
    Survey, Ticket, Token, Versioned, Wake, Written, never,
};

/// A place that keeps elections; one connection to it, as one process has.
///
/// # One process, one store, one session
///
/// A process opens one store, and all its seats of that (law 16). What keeps an entry there, a session or a lease,
/// is one for all seats of a store that ask for the same TTL, however many they are, and whoever looks uses it too
/// where it can. It begins with the first of them that enters, and ends with the last that resigns.
///
/// Nothing else is shared. Each seat has an entry, a token and a ticket of its own, proves its own entry, finds out
/// by itself that the session has ended, and anchors what it proves at its own `now` or before. Whoever
/// resigns, or is redeemed, takes nothing from the others; and whoever asks no more loses its place as if it had
/// been alone, though the others go on. A store without sessions, in which an entry lasts as long as its seat,
/// has nothing to share.
#[async_trait]
pub trait Store: Send + Sync {
    /// What this store is and can do, as far as is known: no request is made for it.
    fn profile(&self) -> Profile;

    /// Gets ready to take part in `election`. No entry exists before the first [`Seat::refresh`].
    ///
    /// `ttl` is the length of lease to ask for; a store of unlimited leases pays no heed to it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unreachable`] if trying again may help; `Denied` and `Unfit` if not.
    ///
    /// # Cancellation
    /// Dropping the future leaves nothing behind that blocks anybody.
    async fn open(
        &self,
        election: &ElectionName,
        candidate: &Candidate,
        ttl: Duration,
    ) -> Result<Box<dyn Seat>, Error>;

    /// Who leads and who waits, disturbing nobody (law 9). An election that nobody ever entered is
    /// an empty one.
    ///
    /// # Ordering
    /// What it shows was so after the call: no server answers from what it happens to know. A store that
    /// cannot rule that out in full says so in its documentation.
    ///
    /// # Errors
    /// As [`Store::open`]; damaged entries are left out, not reported. More than [`Survey::MOST`] may be refused: a store
    /// that others can write to refuses them.
    async fn survey(&self, election: &ElectionName) -> Result<Survey, Error>;

    /// Removes an entry, or all that there is of an election: [`Removal`] says which, and by which law. Does nothing if
    /// it is gone, or never was.
    ///
    /// # Errors
    /// As [`Store::open`]. `Unfit` if the entry lasts as long as its holder lives, if it was renewed since it was judged
    /// to be over, or if the election has fences that may not go. `Unreachable` also if everything was to go, and
    /// somebody is in the election.
    ///
    /// # Cancellation
    /// The outcome is unknown; the call may be repeated.
    async fn remove(&self, election: &ElectionName, what: Removal<'_>) -> Result<(), Error>;

    /// Looks out over an election: the wake ends when a candidate may have come or gone, somebody may have
    /// begun or ceased to lead, or a watched cell ([`Cell::is_watched`]) may have been written, since this returned. It is a hint (law 4),
    /// and to look out disturbs nobody (law 9).
    ///
    /// Whoever wants to miss nothing looks out first, surveys then, and surveys now and then in any case.
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

    /// What a cell of an election says: all that was written before the call. It needs no candidate's rights, disturbs
    /// nobody, and makes nothing.
    ///
    /// # Errors
    /// As [`Store::open`], and `Unfit` if what is there is nothing of ours.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn read(&self, election: &ElectionName, cell: Cell<'_>) -> Result<Versioned, Error>;

    /// Writes at most [`Cell::LONGEST`] bytes in place of what a cell says, in one step with the proof that the
    /// condition holds ([`If`] says which one each cell takes). No candidate needs to be there, nor ever to have been,
    /// but for a leader that is to lead. What a leader's seat writes is written with [`Seat::write`] alone.
    ///
    /// # Errors
    /// As [`Store::open`], and `Unfit` if it is too long, or the condition is none of this cell. After
    /// [`crate::ErrorKind::Ambiguous`] it may have been written: [`Store::read`] tells, if nobody has written since;
    /// under [`If::Leads`] writing the same again is no other outcome.
    ///
    /// # Cancellation
    /// Dropping the future is an ambiguous outcome. Once something else is written, or another leads, it is not
    /// written any more.
    async fn write(
        &self,
        election: &ElectionName,
        cell: Cell<'_>,
        bytes: &[u8],
        condition: If,
    ) -> Result<Written, Error>;

    /// The elections of this [`Scope`], each once, by name. It disturbs nobody and makes nothing. A store without any
    /// has an empty list.
    ///
    /// # Errors
    /// As [`Store::open`].
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn list(&self, scope: Scope) -> Result<Vec<ElectionName>, Error>;

    /// Under what an election keeps fences and values. It disturbs nobody and makes nothing.
    ///
    /// # Errors
    /// As [`Store::open`].
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn keys(&self, election: &ElectionName) -> Result<Keys, Error>;

    /// Asks each place of the store how it is (law 12): whether and how fast it answers, its version and what
    /// is known to be wrong with that, what it grants and what it runs out of. An endpoint that does not answer
    /// in some seconds is one that does not answer; that is no error of this call.
    ///
    /// `clock` is read just before a question and just after its answer.
    ///
    /// A store with nothing to tell has an empty examination.
    ///
    /// # Errors
    /// As [`Store::open`], where no endpoint can be asked at all.
    ///
    /// # Cancellation
    /// May be dropped at any time; what it has opened at a server ends by itself.
    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        let _ = clock;
        Ok(Examination::default())
    }
}

/// What [`Store::remove`] removes.
#[derive(Clone, Copy, Debug)]
pub enum Removal<'a> {
    /// The entry of a candidate that crashed, whose tree is proven dead: the next one can lead when it is removed. Where
    /// the death of a process frees its place there is nothing to do.
    Crashed(&'a Ticket),
    /// The entry of the leader that has this token, without a word to its holder (law 13). The command of a holder
    /// that lives may go on beside that of the next leader until the holder finds out: this is for entries whose
    /// holder is gone, and for people who know what they do.
    Leader {
        /// The token.
        token: Token,
        /// That by which it was judged to be over ([`Ending::Judged`](crate::Ending::Judged)), if it was. With another
        /// one it was renewed since, and stays.
        mark: Option<u64>,
    },
    /// All that is kept of an election that nobody is in: its cells, and the place that was made for it, with what was
    /// made above it for nobody else. Whoever enters later finds it as if nobody ever had, but for the tokens, which
    /// rise all the same, and the store's [id](crate::remote::StoreId), by which others may know it. An election that
    /// nobody ever entered is left as it is.
    ///
    /// That nobody is in it, and that it has no fences if those may not go, holds in one step with the removal: whoever
    /// enters, or comes to a fence, at the same time either finds all of it gone or keeps all of it.
    Everything {
        /// Whether its fences may go, too. If not, an election that has one stays as it is: without the fence a stale
        /// token would pass.
        fences: bool,
    },
}

/// Which elections [`Store::list`] lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those that have, or had, candidates here. One of which something was asked, and that nobody ever entered, is
    /// none of them.
    Entered,
    /// Those of which something was asked, whether anybody ever entered them or not (law 11): those that have a
    /// [`Cell::Control`].
    Asked,
    /// Those of which something is kept, whether anybody is in them or not: those that have a [`Cell`].
    Kept,
}

impl Removal<'_> {
    /// What a store says in which an entry lasts as long as its holder lives.
    pub fn refuse(election: &ElectionName) -> Error {
        let what = format!(
            "an entry of {election} lasts as long as a process of its holder lives, and cannot be removed from \
             outside: end that process"
        );
        Error::new(ErrorKind::Unfit, what)
    }

    /// What a store says of an election that has this fence, if its fences may not go.
    pub fn refuse_fence(election: &ElectionName, resource: &str) -> Error {
        let what =
            format!("{election} has a fence of {resource}: without it a stale token would pass");
        Error::new(ErrorKind::Unfit, what)
    }
}
