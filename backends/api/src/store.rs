use std::time::Duration;

use async_trait::async_trait;

use crate::remote::StoreId;
use crate::{
    Candidate, Clock, ElectionName, Ending, Error, ErrorKind, Examination, Fenced, Finding, Key,
    Lease, NoteName, Noted, Ordered, Orders, Profile, Seat, Survey, Ticket, Token, Wake, never,
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
    /// What this store is and can do.
    fn profile(&self) -> Profile;

    /// What the store is called that this process takes part in: the one that was asked for, or else the first that it
    /// has entered. `None` as long as that is not known, and where the location alone says which store it is.
    fn id(&self) -> Option<StoreId> {
        None
    }

    /// What is unsafe about the way to it and the credentials for it, as far as that shows before it is asked.
    fn cautions(&self) -> Vec<Finding> {
        Vec::new()
    }

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

    /// Gives up the entry of a candidate that crashed, whose tree is proven dead. Does nothing if the
    /// entry is gone, or never was. The next candidate can lead when this has returned.
    ///
    /// # Errors
    /// As [`Store::open`]; the entry then ends by itself, as the store has it.
    ///
    /// # Cancellation
    /// The outcome is unknown; the call may be repeated.
    async fn redeem(&self, election: &ElectionName, ticket: &Ticket) -> Result<(), Error> {
        let _ = (election, ticket);
        Ok(())
    }

    /// Removes all that is kept of an election that nobody is in: its notes and orders, what was recorded and put
    /// there, and the place that was made for it, with what was made above it for nobody else. Whoever enters later finds it as if nobody ever had,
    /// but for the tokens, which rise all the same, and the store's [id](crate::remote::StoreId), by which others may know it. An election that nobody ever entered is left as it is.
    ///
    /// A store in which nothing outlives the entries does nothing.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unreachable`] also while somebody is in it; else as [`Store::open`].
    ///
    /// # Cancellation
    /// Some of it may be gone; the call may be repeated.
    async fn forget(&self, election: &ElectionName) -> Result<(), Error> {
        let _ = election;
        Ok(())
    }

    /// Who leads and who waits, disturbing nobody (law 9). An election that nobody ever entered is
    /// an empty one.
    ///
    /// # Ordering
    /// What it shows was so after the call: no server answers from what it happens to know. A store that
    /// cannot rule that out in full says so in its documentation.
    ///
    /// # Errors
    /// As [`Store::open`]; damaged entries are left out, not reported.
    async fn survey(&self, election: &ElectionName) -> Result<Survey, Error>;

    /// How the entry of the leader that has this token ends, if its holder does nothing for it any more (law
    /// 13). `None` if it is gone. Whatever is still there later than that was renewed meanwhile, or the store
    /// itself has prolonged it.
    ///
    /// The default goes by what the survey shows.
    ///
    /// # Errors
    /// As [`Store::open`], and `Unfit` if the store does not tell.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn ending(&self, election: &ElectionName, token: Token) -> Result<Option<Ending>, Error> {
        let leader = self.survey(election).await?.leader.filter(|leader| leader.token == token);
        let Some(leader) = leader else { return Ok(None) };
        match (self.profile().lease, leader.remaining) {
            (Lease::Unlimited, _) => Ok(Some(Ending::WithItsProcess)),
            (Lease::Timed(_), Some(remaining)) => Ok(Some(Ending::Within(remaining))),
            (Lease::Timed(_), None) => {
                let what = format!("this store does not tell when entries of {election} end");
                Err(Error::new(ErrorKind::Unfit, what))
            }
        }
    }

    /// Removes the entry of the leader that has this token, without a word to its holder (law 13). Does nothing
    /// if it is gone. The command of a holder that lives may go on beside that of the next leader until the holder
    /// finds out: this is for entries whose holder is gone, and for people who know what they do.
    ///
    /// # Errors
    /// As [`Store::open`]. The default is a store in which an entry lasts as long as its holder lives, and is
    /// `Unfit`.
    ///
    /// # Cancellation
    /// The outcome is unknown; the call may be repeated.
    async fn remove(&self, election: &ElectionName, token: Token) -> Result<(), Error> {
        let _ = token;
        let what = format!(
            "an entry of {election} lasts as long as a process of its holder lives, and cannot be removed from \
             outside: end that process"
        );
        Err(Error::new(ErrorKind::Unfit, what))
    }

    /// Looks out over an election: the wake ends when a candidate may have come or gone, somebody may have
    /// begun or ceased to lead, or a vital note or orders may have been written, since this returned. It is a hint (law 4),
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

    /// What a note of an election says (law 10): all that was written before the call; `None` if nothing ever
    /// was. It needs no candidate's rights, disturbs nobody, and makes nothing.
    ///
    /// # Errors
    /// As [`Store::open`].
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn note(&self, election: &ElectionName, name: NoteName)
    -> Result<Option<Vec<u8>>, Error>;

    /// What people ask of an election (law 11): all that was written before the call. It needs no
    /// candidate's rights, disturbs nobody, and makes nothing.
    ///
    /// # Errors
    /// As [`Store::open`]. The default is a store that keeps no orders, and is `Unfit`.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn orders(&self, election: &ElectionName) -> Result<Orders, Error> {
        Err(keeps_none(election))
    }

    /// Writes orders of at most [`Orders::LONGEST`] bytes in place of those that have this version; 0 where
    /// there are none yet. No candidate needs to be there, nor ever to have been.
    ///
    /// # Errors
    /// As [`Store::open`], and `Unfit` if the text is too long. After [`crate::ErrorKind::Ambiguous`] it may
    /// have been written: [`Store::orders`] tells, if nobody has written since.
    ///
    /// # Cancellation
    /// Dropping the future is an ambiguous outcome; once others are written it is not written any more.
    async fn order(
        &self,
        election: &ElectionName,
        text: &[u8],
        version: u64,
    ) -> Result<Ordered, Error> {
        let _ = (text, version);
        Err(keeps_none(election))
    }

    /// Records that whoever has this token comes for a resource, unless a greater one was recorded (law 14). No
    /// candidate needs to be there.
    ///
    /// # Errors
    /// As [`Store::open`]. After [`crate::ErrorKind::Ambiguous`] it may have been recorded; recording it again is no
    /// other outcome. The default is a store that records none, and is `Unfit`.
    ///
    /// # Cancellation
    /// Dropping the future is an ambiguous outcome; once a greater token is recorded it is not recorded any more.
    async fn fence(
        &self,
        election: &ElectionName,
        resource: &Key,
        token: Token,
    ) -> Result<Fenced, Error> {
        let _ = (resource, token);
        let what = format!("this store records no tokens, so nothing of {election} can be fenced");
        Err(Error::new(ErrorKind::Unfit, what))
    }

    /// Writes a value of at most [`crate::LONGEST_VALUE`] bytes in place of what is kept under `key`, if the entry
    /// with this token leads (law 15).
    ///
    /// # Errors
    /// As [`Store::open`], and `Unfit` if the value is too long. After [`crate::ErrorKind::Ambiguous`] it may have
    /// been written; writing the same again is no other outcome. The default is a store that keeps no values, and is
    /// `Unfit`.
    ///
    /// # Cancellation
    /// Dropping the future is an ambiguous outcome. Once another leads, or another value is written, it is not written
    /// any more.
    async fn put(
        &self,
        election: &ElectionName,
        token: Token,
        key: &Key,
        value: &[u8],
    ) -> Result<Noted, Error> {
        let _ = (token, key, value);
        Err(keeps_no_values(election))
    }

    /// What is kept under `key`: all that was written before the call. `None` if nothing ever was. It needs no
    /// candidate's rights, disturbs nobody, and makes nothing.
    ///
    /// # Errors
    /// As [`Store::put`].
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn get(&self, election: &ElectionName, key: &Key) -> Result<Option<Vec<u8>>, Error> {
        let _ = key;
        Err(keeps_no_values(election))
    }

    /// The elections that have, or had, candidates here, by name. One of which something was asked, and that
    /// nobody ever entered, is none of them.
    ///
    /// # Errors
    /// As [`Store::open`]. A store without any election yet has an empty list.
    async fn elections(&self) -> Result<Vec<ElectionName>, Error>;

    /// The elections of which something was asked, by name, whether anybody ever entered them or not (law 11):
    /// those that have [`Store::orders`]. It disturbs nobody and makes nothing.
    ///
    /// # Errors
    /// As [`Store::open`]. The default is a store that keeps no orders, and has none.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn under_orders(&self) -> Result<Vec<ElectionName>, Error> {
        Ok(Vec::new())
    }

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

fn keeps_no_values(election: &ElectionName) -> Error {
    let what = format!("this store keeps no values, so there are none of {election}");
    Error::new(ErrorKind::Unfit, what)
}

fn keeps_none(election: &ElectionName) -> Error {
    let what = format!("this store keeps no orders, so nothing can be asked of {election}");
    Error::new(ErrorKind::Unfit, what)
}
