//! The wrapper's side of the guardian.

mod fork;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use elect_api::{Holds, Ticket, Token};
use elect_system::helpers;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::children::{self, Waited};
use super::enclosure::Enclosure;
use super::kill_loop::KillLoop;
use super::ladder::Order;
use super::outbox::Unsent;
use super::pass::{Found, Spared, with_helpers};
use super::priority::Turn;
use super::takeover::{Conclusion, Takeover};
use super::wire::{self, FromGuardian, MOST_HOLDS, Message, Received, ToGuardian};
use super::{Alarm, clock, lease};

pub use fork::{Forked, Settings, Starts};

/// The number of processes that are reaped between two passes of killing. The processes of a tree may die faster than
/// they are reaped.
const MOST_REAPED: u32 = 1024;
/// The time until the wrapper scans again for descendants that it has to kill itself.
const SWEEP_AGAIN: Duration = Duration::from_millis(5);

/// Tells whether a guardian is alive and can act.
#[derive(Clone, Copy, Debug)]
pub struct Pulse(i32);

impl Pulse {
    /// Returns whether the guardian runs: it is neither dead, nor stopped, nor halted by a tracer. Call this before
    /// the guardian is dismissed.
    pub fn beats(self) -> bool {
        // If `/proc` does not tell, the guardian counts as not stopped.
        !children::is_dead(self.0) && !children::stands_still(self.0).unwrap_or(false)
    }
}

/// A guardian that takes orders.
///
/// Dropping this value closes the socket. The guardian then kills the tree, if there is one, and ends.
pub struct Guardian {
    pid: i32,
    socket: AsyncFd<OwnedFd>,
    alarm: Alarm,
    _lease: lease::Writer,
    enclosure: Enclosure,
    spare: Vec<Spared>,
    kill_loop: KillLoop,
    takeover: Takeover,
    /// The wrapper's raised priority, while it kills in the guardian's place.
    turn: Option<Turn>,
    /// Requests that the socket had no room for, as the guardian is stopped.
    unsent: Unsent,
    life: Life,
}

/// The stages of a guardian's end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Alive,
    /// The guardian is dead, and processes of the tree may be left.
    Dead,
    /// The same, and the wrapper kills them.
    Swept,
}

/// An event of a guardian and its tree.
#[derive(Clone, Copy, Debug)]
pub enum Happened {
    /// The guardian has reported this.
    Reported(FromGuardian),
    /// The guardian is dead, or as good as dead. Processes of the tree may be left.
    Died,
    /// All processes that the dead guardian left are dead.
    Swept,
}

impl Guardian {
    /// Starts the command, or starts it again once its last tree is empty. `holds` go to the guardian, and the tree
    /// inherits the marks among them.
    ///
    /// # Errors
    /// The order cannot be sent. Nothing was started in that case.
    pub fn start(&mut self, token: Token, holds: &Holds<'_>) -> io::Result<()> {
        // The marks get the highest numbers, so the kernel releases those of a dead guardian first (see `dead_man`). In
        // another order the lease is as safe. But a candidate or `elect status` that finds the lock free, and a mark,
        // would take that for a tree that outlived its guardian.
        let all = holds.locks.iter().chain(&holds.marks);
        let numbers: Vec<RawFd> = all.map(AsRawFd::as_raw_fd).collect();
        let locks = u8::try_from(holds.locks.len()).ok().filter(|_| numbers.len() <= MOST_HOLDS);
        let Some(locks) = locks else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "too many descriptors hold the lease",
            ));
        };
        if !self.unsent.is_empty() {
            // The start must not overtake requests that the guardian must know before.
            return Err(io::ErrorKind::WouldBlock.into());
        }
        wire::send(self.socket.get_ref(), &ToGuardian::Start { token, locks }.encode(), &numbers)?;
        self.takeover.begin();
        Ok(())
    }

    /// Makes the next command that is started lead the part of the election with this number.
    pub fn leads_part(&mut self, number: u16) {
        self.ask(ToGuardian::Part(number));
    }

    /// Gives the guardian a ticket, which replaces an earlier one. If the wrapper dies, the guardian empties the tree
    /// and has the entry given up. With `None`, the entry ends with its lease in that case.
    pub fn keep(&mut self, ticket: Option<&Ticket>) {
        self.ask(ToGuardian::Ticket(ticket.map_or(&[], |ticket| ticket.as_str().as_bytes())));
    }

    /// Passes an order to the guardian, unless it is dead. A stopped guardian cannot kill, so an order to kill makes
    /// the wrapper kill the guardian. The kernel, the wrapper and [`Guardian::sweep`] do the rest.
    pub fn obey(&mut self, order: Order) {
        match order {
            Order::Renewed(deadlines) => self.takeover.renewed(deadlines.dead_man),
            Order::Stop { kill_at } | Order::Ask { kill_at: Some(kill_at), .. } => {
                self.takeover.kills_at(kill_at);
            }
            Order::Ask { kill_at: None, .. } | Order::Signal { .. } | Order::Kill => {}
        }
        self.ask(ToGuardian::Order(order));
        if order == Order::Kill {
            self.insist();
        }
    }

    /// Ensures that the guardian carries out an order to kill everything.
    fn insist(&mut self) {
        let now = clock::now();
        // If reading `/proc` fails, as when no descriptor is left, the guardian counts as stopped. A missing entry
        // does not count.
        let unknown = |error: io::Error| error.kind() != io::ErrorKind::NotFound;
        if children::is_stopped(self.pid).unwrap_or_else(unknown) {
            self.kill_guardian();
            self.takeover.schedule_pass(now);
        } else {
            self.takeover.kills_at(now);
        }
    }

    /// Kills the processes below a guardian that has not killed them in time. Returns whether none of them lives and
    /// the guardian can start nothing any more: then it is as good as dead.
    fn take_over(&mut self) -> bool {
        let now = clock::now();
        // A stopped guardian will not kill, and does not reap the processes that die below it.
        if children::is_stopped(self.pid).unwrap_or(false) {
            self.kill_guardian();
            self.takeover.is_killed();
        } else if self.takeover.waits(now) {
            return false;
        }
        self.turn.get_or_insert_with(Turn::begin);
        let found = self.enclosure.kill_below(self.pid, &self.spare);
        let is_empty = found.is_some_and(|found| found.is_none()) && self.enclosure.is_empty();
        match self.takeover.pass_ended(now, is_empty) {
            Conclusion::Wait => false,
            Conclusion::Kill => {
                self.kill_guardian();
                false
            }
            Conclusion::Empty => {
                // The guardian is no part of the tree, so later passes must spare it.
                self.spare.extend(Spared::of(self.pid).ok().flatten());
                true
            }
        }
    }

    /// Returns a handle that tells whether the guardian is alive, for code that does not own it.
    pub const fn pulse(&self) -> Pulse {
        Pulse(self.pid)
    }

    /// Kills the guardian, unless it is reaped already. Returns whether it was sent KILL.
    fn kill_guardian(&self) -> bool {
        // SAFETY: the guardian is a child of this process. If it is reaped already, its number may have passed on, but
        // only to a process that is no child of this one. That is why waitid comes first. Stopped or not, the guardian
        // obeys KILL.
        unsafe {
            let mut info = std::mem::zeroed::<libc::siginfo_t>();
            let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            let is_ours =
                libc::waitid(libc::P_PID, self.pid.cast_unsigned(), &raw mut info, flags) == 0;
            is_ours && libc::kill(self.pid, libc::SIGKILL) == 0
        }
    }

    fn ask(&mut self, request: ToGuardian<'_>) {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
        // A guardian that is gone shows itself in `next_report`. Any other failure, such as a lack of room or memory,
        // makes the request wait for another attempt.
        let failed =
            |error: io::Error| !matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected);
        let message = request.encode();
        if !self.unsent.is_empty()
            || wire::send(self.socket.get_ref(), &message, &[]).is_err_and(failed)
        {
            self.unsent.add(message);
        }
    }

    /// Waits for the next event. Waits for ever once the guardian is dead and there is nothing to sweep.
    ///
    /// # Cancellation
    /// No event is lost if the future is dropped.
    pub async fn next(&mut self) -> Happened {
        match self.life {
            Life::Alive => {
                if let Some(report) = self.next_report().await {
                    return Happened::Reported(report);
                }
                self.life = Life::Dead;
                Happened::Died
            }
            Life::Dead => std::future::pending().await,
            Life::Swept => {
                self.kill_rest_of_tree().await;
                self.life = Life::Dead;
                Happened::Swept
            }
        }
    }

    /// Lets [`Guardian::next`] kill the processes that a dead guardian has left.
    pub const fn sweep(&mut self) {
        self.life = Life::Swept;
    }

    /// Waits for the guardian's next report. Returns `None` if the guardian is dead, or as good as dead: killed, with
    /// no living process below it.
    async fn next_report(&mut self) -> Option<FromGuardian> {
        loop {
            let interest = if self.unsent.is_empty() {
                Interest::READABLE
            } else {
                Interest::READABLE | Interest::WRITABLE
            };
            let mut ready = tokio::select! {
                biased;
                ready = self.socket.ready(interest) => ready.ok()?,
                () = self.alarm.until(self.takeover.due()) => {
                    if self.take_over() {
                        self.takeover.end();
                        return None;
                    }
                    continue;
                }
            };
            if ready.ready().is_writable() {
                self.unsent.send(self.socket.get_ref());
            }
            let mut message = Message::EMPTY;
            match wire::receive(
                self.socket.get_ref(),
                &mut message,
                &mut [const { None }; MOST_HOLDS],
            ) {
                Received::Message { .. } => {
                    if let Some(report) = FromGuardian::decode(&message) {
                        return Some(self.noted(report));
                    }
                }
                Received::Nothing => ready.clear_ready(),
                Received::End => return None,
            }
        }
    }

    fn noted(&mut self, report: FromGuardian) -> FromGuardian {
        if report == FromGuardian::Empty {
            self.takeover.end();
            self.turn = None;
        }
        report
    }

    /// Reaps the children that have ended: the guardian, orphans of the tree, and, as PID 1, all orphans of the
    /// namespace. Returns `false` if no child is left.
    pub fn reap(&mut self) -> bool {
        if self.life == Life::Swept {
            self.sweep_once();
        }
        self.reap_at_most(u32::MAX)
    }

    fn reap_at_most(&mut self, most: u32) -> bool {
        if self.kill_loop.keeps_the_dead(clock::now(), self.enclosure.awaits_reaping()) {
            return true;
        }
        let Some(_held) = helpers::hold() else { return true };
        for _ in 0..most {
            match children::wait() {
                Waited::Ended(pid, _) => {
                    self.spare.retain(|spared| spared.pid() != pid);
                    helpers::ended(pid.cast_unsigned());
                }
                Waited::Stopped(..) => {}
                Waited::Quiet => return true,
                Waited::None => return false,
            }
        }
        true
    }

    /// Kills what is left of the tree after the guardian's death, until no process of it lives. May be called again if
    /// the future is dropped.
    async fn kill_rest_of_tree(&mut self) {
        self.kill_loop.begin(clock::now());
        loop {
            self.turn.get_or_insert_with(Turn::begin);
            let found = self.sweep_once();
            let has_children = self.reap_at_most(MOST_REAPED);
            // `wait` tells whether children are left. If some are no part of the tree, only a whole search without a
            // find proves that the tree is empty.
            let is_childless =
                !has_children || found.is_some_and(|found| found.is_none() && found.dead == 0);
            if is_childless && self.enclosure.is_empty() {
                self.turn = None;
                return;
            }
            // Other work gets its turn, even if the kill is urgent.
            tokio::task::yield_now().await;
            let soon = clock::now() + SWEEP_AGAIN;
            let next = self.kill_loop.next().filter(|_| found.is_some());
            self.alarm.until(Some(next.map_or(soon, |next| next.min(soon)))).await;
        }
    }

    /// Kills what a dead guardian has left, once. If no process of it runs any more, the raised priority ends before
    /// the last ones are reaped (see [`Before::lowered`](super::priority::Before::lowered)).
    fn sweep_once(&mut self) -> Option<Found> {
        let now = clock::now();
        let found = self.enclosure.sweep(&with_helpers(&self.spare))?;
        self.kill_loop.passed(now, found);
        let is_dead = found.is_none() && self.enclosure.is_empty();
        if is_dead || self.kill_loop.is_stuck(now) {
            self.turn = None;
        }
        Some(found)
    }

    /// Kills the guardian of an empty tree. Its owner may do other work before it dismisses the guardian.
    pub fn send_off(&self) {
        self.kill_guardian();
    }

    /// Ends the guardian of an empty tree, and reaps it.
    ///
    /// A guardian that a tracer holds is left to the tracer, as it does nothing any more.
    pub fn dismiss(mut self) {
        if self.kill_guardian() && !self.takeover.is_stuck() {
            // SAFETY: info is a valid place for the kernel to write to; the child is not reaped yet.
            unsafe {
                let mut info = std::mem::zeroed::<libc::siginfo_t>();
                libc::waitid(libc::P_PID, self.pid.cast_unsigned(), &raw mut info, libc::WEXITED);
            }
        }
        self.reap();
    }
}
