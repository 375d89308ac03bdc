//! The queue of future events.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Events by true time. Those of the same time come in the order in which they were added. That makes a run the same
/// everywhere.
#[derive(Debug)]
pub(super) struct Events<E> {
    heap: BinaryHeap<QueuedEvent<E>>,
    put: u64,
}

#[derive(Debug)]
struct QueuedEvent<E> {
    at: Duration,
    order: u64,
    event: E,
}

impl<E> Default for Events<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), put: 0 }
    }
}

impl<E> Events<E> {
    pub(super) fn put(&mut self, at: Duration, event: E) {
        self.put += 1;
        self.heap.push(QueuedEvent { at, order: self.put, event });
    }

    /// Takes the next event, if it comes by `end`.
    pub(super) fn next(&mut self, end: Duration) -> Option<(Duration, E)> {
        if self.heap.peek()?.at > end {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }
}

/// The heap returns the greatest first, so the earliest event counts as the greatest.
impl<E> Ord for QueuedEvent<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl<E> PartialOrd for QueuedEvent<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for QueuedEvent<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for QueuedEvent<E> {}
