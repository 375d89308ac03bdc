use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::Builder;

/// Far more time than any test takes. It only guards against a hang.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a test on a current-thread runtime, as `elect` runs, and fails it if it hangs.
pub fn run<T>(name: &str, test: impl Future<Output = T>) -> T {
    let runtime =
        Builder::new_current_thread().enable_all().build().expect("a runtime for the test");
    let ended = runtime.block_on(async { tokio::time::timeout(LIMIT, test).await });
    ended.unwrap_or_else(|_| {
        panic!("{name} hangs: it has waited {LIMIT:?} for an event that did not come")
    })
}

/// Runs a part of a test on its own thread and runtime, as another process would run.
pub fn apart<T, F>(part: impl FnOnce() -> F + Send + 'static) -> JoinHandle<T>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    thread::spawn(move || run("a part of a test", part()))
}

/// Polls a future at most `times` times, each time that it asks for it, and then drops it. Returns
/// `None` if it was not ready by then. With this a test cuts a call at each of its await points.
pub async fn poll_n<T>(times: usize, future: impl Future<Output = T>) -> Option<T> {
    cut(times, future, |_| {}).await
}

/// As [`poll_n`], but polls at once without being asked. With this a test cuts a call that gets no
/// answer. Between two polls the call's requests have time to go out.
pub async fn poll_n_eagerly<T>(times: usize, future: impl Future<Output = T>) -> Option<T> {
    cut(times, future, |context| context.waker().wake_by_ref()).await
}

async fn cut<T>(
    times: usize,
    future: impl Future<Output = T>,
    go_on: impl Fn(&Context<'_>),
) -> Option<T> {
    let mut future = pin!(future);
    let mut left = times;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => {
                go_on(context);
                Poll::Pending
            }
        }
    })
    .await
}
