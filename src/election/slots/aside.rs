//! What goes on beside the calls of a seat.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use elect_api::Wake;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Something that goes on whenever a wake of it is polled, and lasts when that is dropped.
#[derive(Clone, Default)]
pub(super) struct Aside(Arc<Mutex<Option<Task>>>);

impl Aside {
    fn task(&self) -> MutexGuard<'_, Option<Task>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins with this, in place of what went on.
    pub(super) fn begin(&self, task: impl Future<Output = ()> + Send + 'static) {
        *self.task() = Some(Box::pin(task));
    }

    /// Drops what goes on.
    pub(super) fn end(&self) {
        *self.task() = None;
    }

    /// Whether it has not come to its end.
    pub(super) fn goes_on(&self) -> bool {
        self.task().is_some()
    }

    /// Ends when it has come to its end; never, if it has before.
    pub(super) fn wake(&self) -> Wake {
        let aside = self.clone();
        Box::pin(poll_fn(move |context| {
            let mut task = aside.task();
            let is_over = task.as_mut().is_some_and(|task| task.as_mut().poll(context).is_ready());
            if !is_over {
                return Poll::Pending;
            }
            *task = None;
            Poll::Ready(())
        }))
    }
}
