use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;

use crate::{Boottime, Cell, Durability, Error, Ticket, Token, Versioned, WatchedCell, Written};

/// One candidate's place in one election.
#[async_trait]
pub trait Seat: Send {
    /// Enters the election if we are not in it, tries to win, or proves that we still lead.
    ///
    /// `now` is read just before the call; what the call proves is anchored there or earlier.
    ///
    /// It makes no entry for which [`Seat::ticket`] did not show the ticket before the call. So a waiter
    /// whose entry is gone may be told that it waits, with a wake that has come already, and enters with
    /// the next refresh.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Ambiguous`] if the outcome is unknown, `Unreachable` if nothing happened;
    /// both keep the place. `Denied` and `Unfit` are final.
    ///
    /// # Cancellation
    /// Dropping the future is an ambiguous outcome: the next call finds the truth (law 3).
    ///
    /// # Ordering
    /// Leadership that this reports was established at the store after `now`.
    async fn refresh(&mut self, now: Boottime) -> Result<Refreshed, Error>;

    /// Gives the place up, leading or waiting. When it has returned, the next candidate can lead at
    /// once, provided that every copy of [`Seat::holds`] is closed too (law 7). Without a place there is
    /// nothing to give up, and that is no error. The seat may be used again: its next `refresh` comes as
    /// a newcomer, at the end of the queue.
    ///
    /// Where we lead, `last` is written in the same step: the next leader reads it (law 10). It resigns in any case:
    /// what cannot be written, as we do not lead or for any other reason, is not; that is no error, and costs one
    /// attempt at most.
    ///
    /// # Errors
    /// As [`Seat::refresh`]; after an error the call may be repeated, with last words or without.
    ///
    /// # Cancellation
    /// Dropping the future is an ambiguous outcome; the call may be repeated.
    async fn resign(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error>;

    /// Reads a cell that a leader's seat writes: all that was written before the call, linearizably once we lead. It
    /// needs no place in the election, and makes none.
    ///
    /// `now` is as in [`Seat::refresh`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unreachable`] if trying again may help; `Denied` and `Unfit` if not.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn read(&mut self, now: Boottime, cell: Cell<'_>) -> Result<WatchedCell, Error>;

    /// Writes at most [`Cell::LONGEST`] bytes in place of what a cell of leaders ([`Cell::OF_LEADERS`]) says, in one step
    /// with the proof that we lead with the token of the last [`Seat::refresh`] (law 10). Whoever leads after us reads
    /// it.
    ///
    /// # Errors
    /// As [`Seat::refresh`]. After [`crate::ErrorKind::Ambiguous`] it may have been written; writing the
    /// same again is no other outcome.
    ///
    /// # Cancellation
    /// Dropping the future is an ambiguous outcome. Once another leads it is not written any more.
    async fn write(
        &mut self,
        now: Boottime,
        cell: Cell<'_>,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<Written, Error>;

    /// What [`crate::Removal::Crashed`] needs to give up, from another process, the entry that we have, or
    /// the one that the next [`Seat::refresh`] would make. So it is known before the entry can exist,
    /// and never stands for two entries.
    ///
    /// `None` where the death of our process frees the place by itself.
    fn ticket(&self) -> Option<Ticket> {
        None
    }

    /// For how long whoever leads has to be looked at by the last [`Seat::refresh`], until it is settled whether it lives;
    /// `None` where that needs no time, or is not known.
    fn settles_within(&self) -> Option<Duration> {
        None
    }

    /// Descriptors that hold the lease: it cannot pass on while any copy of them is open. So it outlives
    /// crashes of elect.
    ///
    /// Empty where the store has nothing of the kind, and while we do not lead.
    fn holds(&self) -> Holds<'_> {
        Holds::default()
    }
}

/// Descriptors that hold a lease, as [`Seat::holds`] has them.
#[derive(Default)]
pub struct Holds<'a> {
    /// For the wrapper and its guardian alone: a process that has one of them can give the lease up.
    pub locks: Vec<BorrowedFd<'a>>,
    /// For the command tree too. They show that some of it lives. A process that has one of them can hide
    /// only that, and can change nothing else of the store's.
    pub marks: Vec<BorrowedFd<'a>>,
}

impl Holds<'_> {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.locks.is_empty() && self.marks.is_empty()
    }
}

/// What one [`Seat::refresh`] found out.
pub struct Refreshed {
    /// How we stand.
    pub standing: Standing,
    /// What people ask of the election ([`Cell::Control`]). Where we lead or wait it is as it stood after the `now` of
    /// the call, and no request is made for it; a waiter with 3 or more before it may be told what was known before, as
    /// its store says ([law 11](crate)). It is the default where nothing was ever asked. A cell that is damaged, or that
    /// we may not read, changes nothing.
    pub control: Versioned,
}

/// How a candidate stands.
pub enum Standing {
    /// We lead.
    Leading {
        /// The fencing token of this leadership; the same as long as it lasts.
        token: Token,
        /// How long nobody else can lead.
        validity: Validity,
        /// Ends when it is worth proving it again before the time: when somebody seems to have removed
        /// our entry, or to have asked something.
        wake: Wake,
    },
    /// We wait for our turn.
    Waiting {
        /// How many candidates are before us, the leader among them. Exact up to 3, in most stores up to 100; beyond
        /// that it may be out of date, and then it is too great.
        ahead: usize,
        /// Whether one of these is known to be alive. A store that judges itself when a lease is over knows that of
        /// each that it shows. Where candidates judge ([`crate::Judge`]), one that died a year ago looks alive until
        /// it was looked at for as long as its lease: until then it is not settled whether we lead next.
        alive: bool,
        /// Ends when it is worth asking again: when it may be our turn, or the control cell seems to have been written.
        wake: Wake,
    },
    /// Our entry is gone, but nobody else can lead until we resign: stop in good order. Said again by
    /// every `refresh` until then.
    Evicted(String),
    /// Our entry is gone, and another may lead already. The text says what was seen. Said of a leader
    /// only, and again until it resigns; a waiter whose entry is gone enters anew.
    Gone(String),
}

impl Standing {
    /// Whether our entry is gone.
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Evicted(_) | Self::Gone(_))
    }

    /// The same, with what people ask.
    pub fn with(self, control: &Versioned) -> Refreshed {
        Refreshed { standing: self, control: control.clone() }
    }

    /// The same, whose wake ends also with this one.
    #[must_use]
    pub fn or_woken_by(mut self, other: Wake) -> Self {
        if let Self::Leading { wake, .. } | Self::Waiting { wake, .. } = &mut self {
            *wake = first_of(vec![std::mem::replace(wake, never()), other]);
        }
        self
    }
}

/// A hint that the standing may have changed (law 4): it may come late, for nothing, or never.
///
/// # Cancellation
/// May be dropped at any time.
pub type Wake = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The wake of a store that has nothing to tell.
pub fn never() -> Wake {
    Box::pin(std::future::pending())
}

/// A wake that has come already: it is worth asking again at once.
pub fn awake() -> Wake {
    Box::pin(std::future::ready(()))
}

/// A wake that ends with the first of these; never, if there are none.
pub fn first_of(mut wakes: Vec<Wake>) -> Wake {
    Box::pin(std::future::poll_fn(move |context| {
        let is_over = wakes.iter_mut().any(|wake| wake.as_mut().poll(context).is_ready());
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    }))
}

/// How long the store guarantees that nobody else can lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// As long as a process of ours lives.
    Unlimited,
    /// For `window` (W) after `anchor` (s), an instant before the request was sent that proves it.
    Window {
        /// When the time begins to run; never later than the `now` of the call that reports it.
        anchor: Boottime,
        /// How long it runs, by the store's clock. It is the same as long as the token is: a store that
        /// will not keep a lease for as long any more has taken it away.
        window: Duration,
    },
}
