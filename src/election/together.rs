//! Several requests under way at once.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// A request that may be under way beside others.
pub(super) type Part<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What comes of all of them, in their order.
///
/// # Cancellation
/// Drops those that are still under way.
pub(super) async fn all<T>(mut parts: Vec<Part<'_, T>>) -> Vec<T> {
    let mut outcomes: Vec<Option<T>> = parts.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut is_over = true;
        for (part, outcome) in parts.iter_mut().zip(&mut outcomes) {
            if outcome.is_some() {
                continue;
            }
            match part.as_mut().poll(context) {
                Poll::Ready(value) => *outcome = Some(value),
                Poll::Pending => is_over = false,
            }
        }
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outcomes.into_iter().flatten().collect()
}
