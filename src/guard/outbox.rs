//! Messages that wait until the socket between wrapper and guardian has room.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use super::wire::{FromGuardian, Message, send};

/// Reports that wait, the oldest first. A command has at most three reports that must arrive. Nothing is allocated.
#[derive(Default)]
pub(super) struct Outbox([Option<FromGuardian>; 4]);

impl Outbox {
    pub(super) const fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }

    /// Sends reports in order. If the wrapper does not read, as when it is stopped, a report that must arrive waits
    /// for it. Reports of a stop, of a process that may not be signalled, and of leftover processes are dropped
    /// then.
    pub(super) fn report(&mut self, socket: &OwnedFd, report: FromGuardian) {
        if self.is_empty() && send(socket, &report.encode(), &[]).is_ok() {
            return;
        }
        let may_be_lost = matches!(
            report,
            FromGuardian::Stopped(_) | FromGuardian::MayNotSignal(_) | FromGuardian::Left(_)
        );
        if !may_be_lost && let Some(slot) = self.0.iter_mut().find(|slot| slot.is_none()) {
            *slot = Some(report);
        }
    }

    /// Sends what waits, as long as the socket has room.
    pub(super) fn send(&mut self, socket: &OwnedFd) {
        while let Some(report) = self.0[0] {
            if send(socket, &report.encode(), &[]).is_err() {
                return;
            }
            self.0.rotate_left(1);
            self.0[3] = None;
        }
    }
}

/// Requests that wait, the oldest first.
#[derive(Default)]
pub(super) struct Unsent(VecDeque<Box<Message>>);

impl Unsent {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a request behind the others. A ticket replaces the one that waits. An equal request is added once, as
    /// the kernel, too, keeps only one of several equal signals for a stopped process.
    pub(super) fn add(&mut self, message: Message) {
        if message.is_ticket() {
            self.0.retain(|other| !other.is_ticket());
        }
        if !self.0.iter().any(|other| other.as_bytes() == message.as_bytes()) {
            self.0.push_back(Box::new(message));
        }
    }

    /// Sends what waits, as long as the socket has room.
    pub(super) fn send(&mut self, socket: &OwnedFd) {
        while let Some(message) = self.0.front() {
            if send(socket, message, &[]).is_err() {
                return;
            }
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::ladder::Order;
    use crate::guard::wire::ToGuardian;

    #[test]
    fn the_last_ticket_counts_and_equal_signals_count_once() {
        let (signal, ticket) = (ToGuardian::Order(Order::pass_on(28)), ToGuardian::Ticket(b"7"));
        let mut unsent = Unsent::default();
        // No ticket may remain at the end: neither the one before, nor because the empty one seems to be known
        // already.
        for request in [ToGuardian::Ticket(&[]), signal, ticket, signal, ToGuardian::Ticket(&[])] {
            unsent.add(request.encode());
        }
        let waiting: Vec<_> = unsent.0.iter().map(|message| ToGuardian::decode(message)).collect();
        assert_eq!(waiting, [Some(signal), Some(ToGuardian::Ticket(&[]))]);
    }
}
