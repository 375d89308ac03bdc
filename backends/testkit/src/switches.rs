//! Each guard that keeps the promise can be turned off in builds for tests, so that tests can show that
//! they would notice. Builds without elect's feature `sim` have no such switch.
//!
//! A program that a test starts is told by the variable `ELECT_TEST_WITHOUT`, with names separated by
//! commas; a simulation, which plays on one thread, by [`without`].

use std::cell::Cell;
use std::sync::OnceLock;

use elect_record::{Guard, judge_by};

macro_rules! parts {
    ($($(#[doc = $doc:literal])+ $part:ident = $name:literal,)+) => {
        /// A guard that keeps the promise.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Part {
            $($(#[doc = $doc])+ $part,)+
        }

        impl Part {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$part),+];

            /// Its name in the variable.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$part => $name,)+
                }
            }
        }
    };
}

parts! {
    /// Counting a lease from the send of its renewal, not from the reply.
    Anchor = "anchor",
    /// Counting it, in a store like `ZooKeeper`, from a request that a later one has confirmed.
    Confirmation = "confirmation",
    /// Counting it, in a store like etcd, only in a term of the store's leader that was known before.
    Term = "term",
    /// Proving leadership, in a store like etcd whose reads may be stale, by a write.
    WriteProof = "write-proof",
    /// Counting on as much less of a lease as clocks may differ.
    Drift = "drift",
    /// Counting on less where candidates judge: a lease ends by one clock, and is over by another.
    TwoClocks = "two-clocks",
    /// Being done some time before the lease can end, by the slower clock.
    Margin = "margin",
    /// Reading a clock that goes on during a suspend.
    Suspend = "suspend",
    /// The kernel's timer that kills the guardian.
    DeadMan = "dead-man",
    /// The pipe by which the kernel kills the command's group when the guardian dies.
    DeathPipe = "death-pipe",
    /// Having two of those pipes, of which the kernel closes one's reader first and the other's last.
    TwoPipes = "two-pipes",
    /// Looking for descendants also below those that are killed and not gone yet.
    Depth = "depth",
    /// The guardian's turn on the processors before the command's.
    Priority = "priority",
    /// Keeping clear of the limits by which the kernel kills who works for long.
    Limits = "limits",
    /// Taking a process for alive whom `/proc` does not show and the kernel knows.
    Hidden = "hidden",
    /// Killing below a guardian that does not do it.
    Takeover = "takeover",
    /// Counting a run before it starts, where only so many may be.
    CountFirst = "count-first",
    /// Proving a win again that is too old to start a command on.
    Reproof = "reproof",
    /// The guardian's refusal of a start that comes too late.
    LateStart = "late-start",
    /// Starting one command only, and none after the killing has begun.
    OneWay = "one-way",
    /// Deadlines that never go back, nor return once they have passed.
    Rising = "rising",
    /// Resigning only once the tree is empty.
    EmptyTree = "empty-tree",
    /// Renewing until the tree is empty.
    RenewToEnd = "renew-to-end",
    /// Killing at once when the entry is gone.
    KillAtOnce = "kill-at-once",
    /// Renewing no more once the entry is gone.
    LossIsFinal = "loss-is-final",
    /// Taking a renewal for ours only if it has our token.
    Token = "token",
    /// Joining again when a win is over before the command could start.
    Rejoin = "rejoin",
    /// Giving the guardian the ticket before the entry can exist.
    TicketFirst = "ticket-first",
    /// Taking the wrapper for gone at the end of what it sends, not when it is silent.
    EndOfFile = "end-of-file",
    /// Redeeming a ticket only once the tree is empty.
    TicketAfter = "ticket-after",
    /// Giving up no entry but the one that a ticket is for.
    TicketOwn = "ticket-own",
    /// Counting the time for which a record is unchanged from the second look on.
    SecondLook = "second-look",
    /// Waiting for the holder of a record that was seen, though the record is gone.
    Removed = "removed",
    /// Writing over, in a record, what may be under way when it is given up.
    LateWrite = "late-write",
    /// Writing a new leader's token where a record's values are, before it leads.
    Epoch = "epoch",
    /// Taking a lost reply for "perhaps", not for "no".
    Ambiguity = "ambiguity",
    /// Waking one waiter at a change, the next.
    OneWake = "one-wake",
    /// Longer and longer pauses between requests that fail.
    Backoff = "backoff",
    /// Pauses that differ from candidate to candidate.
    Jitter = "jitter",
    /// Asking who is there before a command is started, where it matters who leads.
    Comparison = "comparison",
    /// Standing back for nobody twice while nobody leads.
    StandBackOnce = "stand-back-once",
    /// Asking less of those who are better with each slot in which nobody leads.
    Sinking = "sinking",
}

thread_local! {
    static OFF: Cell<Option<Part>> = const { Cell::new(None) };
}

/// What the variable names, as one bit for each part.
///
/// elect's wrapper asks before its guardian exists, which may not allocate and never reads it anew.
fn told() -> u64 {
    static TOLD: OnceLock<u64> = OnceLock::new();
    *TOLD.get_or_init(|| {
        let names = std::env::var("ELECT_TEST_WITHOUT").unwrap_or_default();
        let parts = Part::ALL.iter().filter(|part| names.split(',').any(|n| n == part.name()));
        parts.fold(0, |bits, part| bits | 1 << *part as u64)
    })
}

/// Whether `part` is turned off, in this process or on this thread.
pub fn is_off(part: Part) -> bool {
    OFF.get() == Some(part) || told() & 1 << part as u64 != 0
}

/// Has the guards of the adapter of records ask the same switches, in this process.
pub fn judge_records() {
    judge_by(|guard| {
        is_off(match guard {
            Guard::SecondLook => Part::SecondLook,
            Guard::LateWrite => Part::LateWrite,
            Guard::Epoch => Part::Epoch,
            Guard::Removed => Part::Removed,
            Guard::TicketOwn => Part::TicketOwn,
            Guard::Ambiguity => Part::Ambiguity,
            Guard::OneWake => Part::OneWake,
        })
    });
}

/// Does `work` on this thread with `part` turned off.
pub fn without<T>(part: Option<Part>, work: impl FnOnce() -> T) -> T {
    struct Restored(Option<Part>);
    impl Drop for Restored {
        fn drop(&mut self) {
            OFF.set(self.0);
        }
    }
    let _restored = Restored(OFF.replace(part));
    work()
}
