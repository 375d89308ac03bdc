//! Reports that the wrapper's socket has no room for yet. Nothing is allocated.

use std::os::fd::OwnedFd;

use super::channel;
use super::wire::Report;

/// Those that wait, the oldest first: a command has at most three that have to arrive.
#[derive(Default)]
pub(super) struct Outbox([Option<Report>; 4]);

impl Outbox {
    pub(super) const fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }

    /// Reports in order. What the command's stops have to say, and who cannot be killed, is dropped when the wrapper
    /// does not read, as it may be stopped itself; the rest waits for it.
    pub(super) fn report(&mut self, socket: &OwnedFd, report: Report) {
        if self.is_empty() && channel::send(socket, &report.encode(), &[]).is_ok() {
            return;
        }
        if !matches!(report, Report::Stopped(_) | Report::MayNotSignal(_))
            && let Some(slot) = self.0.iter_mut().find(|slot| slot.is_none())
        {
            *slot = Some(report);
        }
    }

    /// Sends what waits, as far as there is room now.
    pub(super) fn send(&mut self, socket: &OwnedFd) {
        while let Some(report) = self.0[0] {
            if channel::send(socket, &report.encode(), &[]).is_err() {
                return;
            }
            self.0.rotate_left(1);
            self.0[3] = None;
        }
    }
}
