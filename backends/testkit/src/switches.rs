//! Switches that turn off one guard of the promise each. They exist only in builds with elect's feature
//! `sim`, where tests use them to show that they would notice.
//!
//! A program that a test starts reads the variable `ELECT_TEST_WITHOUT`, a list of names with commas. A
//! simulation, which runs on one thread, uses [`without`].

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

            /// Returns its name in the variable.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$part => $name,)+
                }
            }
        }
    };
}

parts! {
    /// A lease counts from the send of its renewal, not from the reply.
    Anchor = "anchor",
    /// In a store like `ZooKeeper`, a lease counts from a request that a later one has confirmed.
    Confirmation = "confirmation",
    /// In a store like etcd, a renewal counts only in a term of the store's leader that was known
    /// before.
    Term = "term",
    /// In a store like etcd, whose reads may be stale, a write proves leadership.
    WriteProof = "write-proof",
    /// A leader counts on less of its lease, by as much as clocks may differ.
    Drift = "drift",
    /// Where candidates judge a lease, the leader counts on less still. The lease ends by one clock,
    /// and is over by another.
    TwoClocks = "two-clocks",
    /// All is done some time before the lease can end by the slower clock.
    Margin = "margin",
    /// The clock goes on during a suspend.
    Suspend = "suspend",
    /// The kernel's timer kills the guardian.
    DeadMan = "dead-man",
    /// By a pipe the kernel kills the command's group when the guardian dies.
    DeathPipe = "death-pipe",
    /// There are two such pipes: the kernel closes one's reader first and the other's last.
    TwoPipes = "two-pipes",
    /// The guardian also looks for descendants below processes that are killed and not gone yet.
    Depth = "depth",
    /// The guardian runs before the command on the processors.
    Priority = "priority",
    /// The guardian stays clear of the limits by which the kernel kills a process that works for long.
    Limits = "limits",
    /// A process that `/proc` hides counts as alive if the kernel knows it.
    Hidden = "hidden",
    /// The wrapper kills below a guardian that does not do so itself.
    Takeover = "takeover",
    /// A run with a limited number of attempts is counted before it starts.
    CountFirst = "count-first",
    /// A win that is too old for a start is proven again.
    Reproof = "reproof",
    /// The guardian refuses a start that comes too late.
    LateStart = "late-start",
    /// The guardian starts one command only, and none after the killing has begun.
    OneWay = "one-way",
    /// Deadlines never move back, and do not return once they have passed.
    Rising = "rising",
    /// A leader resigns only once the tree is empty.
    EmptyTree = "empty-tree",
    /// A leader renews until the tree is empty.
    RenewToEnd = "renew-to-end",
    /// The command is killed at once when the entry is gone.
    KillAtOnce = "kill-at-once",
    /// A leader stops renewing once the entry is gone.
    LossIsFinal = "loss-is-final",
    /// A renewal counts only if it has this leader's token.
    Token = "token",
    /// A candidate joins again when its win ends before the command could start.
    Rejoin = "rejoin",
    /// The guardian gets the ticket before the entry can exist.
    TicketFirst = "ticket-first",
    /// The wrapper counts as gone at the end of its socket, not when it is silent.
    EndOfFile = "end-of-file",
    /// A ticket is redeemed only once the tree is empty.
    TicketAfter = "ticket-after",
    /// A ticket ends only its own entry.
    TicketOwn = "ticket-own",
    /// The time for which a record is unchanged counts from the second look on.
    SecondLook = "second-look",
    /// A candidate waits for the holder of a record that it has seen, even if the record is gone.
    Removed = "removed",
    /// A candidate that gives up a record overwrites writes that may be under way.
    LateWrite = "late-write",
    /// A new leader's token is written beside a record's values before it leads.
    Epoch = "epoch",
    /// A lost reply means "perhaps", not "no".
    Ambiguity = "ambiguity",
    /// A change wakes one waiter, the next.
    OneWake = "one-wake",
    /// A record that a store may have lost writes of is waited for as long as the longest lease lasts.
    Doubt = "doubt",
    /// A leader whose lease is over does not prove it again in such a record.
    Lapsed = "lapsed",
    /// The token leaps where the newest tokens may be lost.
    TokenLeap = "token-leap",
    /// Pauses between failing requests grow.
    Backoff = "backoff",
    /// Pauses differ from candidate to candidate.
    Jitter = "jitter",
    /// Where it matters who leads, a winner compares itself with the others before it starts a command.
    Comparison = "comparison",
    /// A candidate stands back for each better candidate only once while none leads.
    StandBackOnce = "stand-back-once",
    /// The longer none leads, the greater the priority that a winner gives way to.
    Sinking = "sinking",
}

thread_local! {
    static OFF: Cell<Option<Part>> = const { Cell::new(None) };
}

/// Returns the parts that the variable names, as one bit each.
///
/// elect's wrapper calls this before its guardian exists. The guardian may not allocate, and never
/// reads the variable.
fn told() -> u64 {
    static TOLD: OnceLock<u64> = OnceLock::new();
    *TOLD.get_or_init(|| {
        let names = std::env::var("ELECT_TEST_WITHOUT").unwrap_or_default();
        let parts = Part::ALL.iter().filter(|part| names.split(',').any(|n| n == part.name()));
        parts.fold(0, |bits, part| bits | 1 << *part as u64)
    })
}

/// Returns whether `part` is turned off, in this process or on this thread.
pub fn is_off(part: Part) -> bool {
    OFF.get() == Some(part) || told() & 1 << part as u64 != 0
}

/// Has the record adapter's guards in this process use the same switches.
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
            Guard::Doubt => Part::Doubt,
            Guard::Lapsed => Part::Lapsed,
            Guard::TokenLeap => Part::TokenLeap,
        })
    });
}

/// Runs `work` on this thread with `part` turned off.
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
