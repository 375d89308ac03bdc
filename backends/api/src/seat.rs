use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;

use crate::{Boottime, Cell, Durability, Error, Ticket, Token, Versioned, WatchedCell, Written};

/// One candidate's place in one election.
#[async_trait]
pub trait Seat: Send {
    /// Enters the election if the candidate is not in it, tries to win, or proves that the candidate still leads.
    ///
    /// The caller reads `now` just before the call. The proof is anchored there or earlier.
    ///
    /// The call makes an entry only if [`Seat::ticket`] showed the ticket for it before the call. So a waiter whose
    /// entry is gone may be told that it waits, with a wake that is already over. It then enters with the next refresh.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Ambiguous`] if the outcome is unknown, `Unreachable` if nothing happened. Both keep the
    /// place. `Denied` and `Unfit` are final.
    ///
    /// # Cancellation
    /// Dropping the future is an ambiguous outcome: the next call finds the truth (law 3).
    ///
    /// # Ordering
    /// Leadership that this reports was established at the store after `now`.
    async fn refresh(&mut self, now: Boottime) -> Result<Refreshed, Error>;

    /// Gives the place up, leading or waiting. When it has returned, the next candidate can lead at once, provided that
    /// every copy of [`Seat::holds`] is closed too (law 7). Resigning without a place does nothing, and is no error.
    /// The seat may be used again: its next `refresh` comes as a newcomer, at the end of the queue.
    ///
    /// If the candidate leads, `last` is written in the same step, for the next leader to read (law 10). The candidate
    /// resigns in any case. If `last` cannot be written, because the candidate does not lead or for another reason, it
    /// is dropped. That is no error, and costs one attempt at most.
    ///
    /// # Errors
    /// As [`Seat::refresh`]. After an error the call may be repeated, with last words or without.
    ///
    /// # Cancellation
    /// Dropping the future is an ambiguous outcome; the call may be repeated.
    async fn resign(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error>;

    /// Reads a cell that a leader's seat writes. The result includes every write from before the call; the read is
    /// linearizable once this candidate leads. The read needs no place in the election, and makes none.
    ///
    /// `now` is as in [`Seat::refresh`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unreachable`] if trying again may help; `Denied` and `Unfit` if not.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn read(&mut self, now: Boottime, cell: Cell<'_>) -> Result<WatchedCell, Error>;

    /// Replaces the content of a leader's cell ([`Cell::OF_LEADERS`]) by at most [`Cell::LONGEST`] bytes. The write is
    /// one step with the proof that this candidate leads with the token of the last [`Seat::refresh`] (law 10). Every
    /// later leader reads it.
    ///
    /// # Errors
    /// As [`Seat::refresh`]. After [`crate::ErrorKind::Ambiguous`] the bytes may have been written. Writing the same
    /// bytes again has the same outcome.
    ///
    /// # Cancellation
    /// Dropping the future is an ambiguous outcome. Once another candidate leads, the dropped call does not write any
    /// more.
    async fn write(
        &mut self,
        now: Boottime,
        cell: Cell<'_>,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<Written, Error>;

    /// The ticket with which another process gives the candidate's entry up ([`crate::Removal::Crashed`]). It is for
    /// the present entry, or for the entry that the next [`Seat::refresh`] would make. So the ticket is known before
    /// its entry can exist, and never stands for two entries.
    ///
    /// `None` if the death of this process frees the place by itself.
    fn ticket(&self) -> Option<Ticket> {
        None
    }

    /// The reason why it is not known yet whether this candidate leads next, and how long that may take, counted from
    /// the last [`Seat::refresh`]. `None` if that takes no time, or is not known.
    fn doubt(&self) -> Option<Doubt> {
        None
    }

    /// The descriptors that hold the lease. Leadership cannot pass on while any copy of them is open. So the lease
    /// outlives a crash of elect.
    ///
    /// Empty if the store has no such descriptors, and while the candidate does not lead.
    fn holds(&self) -> Holds<'_> {
        Holds::default()
    }
}

/// The descriptors that hold a lease: see [`Seat::holds`].
#[derive(Default)]
pub struct Holds<'a> {
    /// For the wrapper and its guardian alone. A process with one of these can give the lease up. A dead guardian's are
    /// closed from the last to the first, after the marks.
    pub locks: Vec<BorrowedFd<'a>>,
    /// For the command tree too. They show that some process of the tree lives. A process with one of these can hide
    /// only that, and can change nothing else in the store.
    pub marks: Vec<BorrowedFd<'a>>,
}

impl Holds<'_> {
    /// Returns whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.locks.is_empty() && self.marks.is_empty()
    }
}

/// The result of one [`Seat::refresh`].
pub struct Refreshed {
    /// The standing of this candidate.
    pub standing: Standing,
    /// The requests of people to the election ([`Cell::Control`]). For a leader or a waiter it is the content after the
    /// `now` of the call, and costs no request of its own. A waiter with 3 or more candidates before it may get an
    /// older content, as its store documents ([law 11](crate)). The default stands for an election without any request.
    /// A cell that is damaged or unreadable for this candidate is ignored, and the content known before stays.
    pub control: Versioned,
}

/// The standing of a candidate.
pub enum Standing {
    /// The candidate leads.
    Leading {
        /// The fencing token of this leadership. It stays the same as long as the leadership lasts.
        token: Token,
        /// How long no other candidate can lead.
        validity: Validity,
        /// Ends when an early renewal is worthwhile: when the candidate's entry seems to be gone, or the control cell
        /// seems to have been written.
        wake: Wake,
    },
    /// The candidate waits for its turn.
    Waiting {
        /// The number of candidates before this one, the leader included. Exact up to 3, in most stores up to 100.
        /// Beyond that it may be out of date, and is then too great.
        ahead: usize,
        /// Whether one of these is known to be alive. A store that judges the end of leases itself knows this for each
        /// entry that it shows. Where candidates judge ([`crate::Judge`]), an entry of a candidate that died a year ago
        /// looks alive at first. It is known to be dead only after it was watched for the length of its lease. Until
        /// then it is unknown whether this candidate leads next.
        alive: bool,
        /// Ends when a refresh is worthwhile: when it may be the candidate's turn, or when the control cell may have
        /// changed.
        wake: Wake,
    },
    /// The candidate's entry is gone, but no other can lead until this one resigns: stop in good order. Every `refresh`
    /// repeats this until then.
    Evicted(String),
    /// The candidate's entry is gone, and another may lead already. The text says what the store showed. Only a leader
    /// gets this, and every `refresh` repeats it until the leader resigns. A waiter whose entry is gone enters anew.
    Gone(String),
}

impl Standing {
    /// Returns whether the candidate's entry is gone.
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Evicted(_) | Self::Gone(_))
    }

    /// This standing, together with the content of the control cell.
    pub fn with(self, control: &Versioned) -> Refreshed {
        Refreshed { standing: self, control: control.clone() }
    }

    /// The same standing, whose wake ends also with this other wake.
    #[must_use]
    pub fn or_woken_by(mut self, other: Wake) -> Self {
        if let Self::Leading { wake, .. } | Self::Waiting { wake, .. } = &mut self {
            *wake = first_of(vec![std::mem::replace(wake, never()), other]);
        }
        self
    }
}

/// A question that only time answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Whether the leader is alive, which takes so long.
    Leader(Duration),
    /// Whether a leader exists whose record the store may have lost, which takes so long.
    Store(Duration),
}

/// A hint that the standing may have changed (law 4). It may come late, without a reason, or never.
///
/// # Cancellation
/// May be dropped at any time.
pub type Wake = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A wake that never ends: the store has nothing to tell.
pub fn never() -> Wake {
    Box::pin(std::future::pending())
}

/// A wake that is already over: a refresh is worthwhile at once.
pub fn awake() -> Wake {
    Box::pin(std::future::ready(()))
}

/// A wake that ends with the first of these. Without any it never ends.
pub fn first_of(mut wakes: Vec<Wake>) -> Wake {
    Box::pin(std::future::poll_fn(move |context| {
        let is_over = wakes.iter_mut().any(|wake| wake.as_mut().poll(context).is_ready());
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    }))
}

/// How long the store guarantees that no other candidate can lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// As long as a process of the holder lives.
    Unlimited,
    /// For `window` (W) after `anchor` (s). The anchor is an instant before the proving request was sent.
    Window {
        /// The start of the window. It is never later than the `now` of the call that reports it.
        anchor: Boottime,
        /// The length of the window, by the store's clock. It stays the same as long as the token. A store that no
        /// longer keeps a lease for that long has ended the lease.
        window: Duration,
    },
}
