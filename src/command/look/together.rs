use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// How many questions are on their way at once.
const ABREAST: usize = 16;

/// Awaits all of them, some at a time; what came of each is in their order.
///
/// # Cancellation
/// Drops those that have begun.
pub(super) async fn together<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut futures = futures.into_iter();
    let mut done = Vec::new();
    loop {
        let mut batch: Vec<Pin<Box<F>>> = futures.by_ref().take(ABREAST).map(Box::pin).collect();
        if batch.is_empty() {
            return done;
        }
        let mut outputs: Vec<Option<F::Output>> = batch.iter().map(|_| None).collect();
        poll_fn(|context| {
            for (future, output) in batch.iter_mut().zip(&mut outputs) {
                if output.is_none()
                    && let Poll::Ready(value) = future.as_mut().poll(context)
                {
                    *output = Some(value);
                }
            }
            if outputs.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        done.extend(outputs.into_iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn they_are_awaited_at_once_and_not_all_of_them() {
        let (under_way, most) = (Cell::new(0), Cell::new(0));
        let answers = together((0..=ABREAST * 2).map(|number| {
            let (under_way, most) = (&under_way, &most);
            async move {
                under_way.set(under_way.get() + 1);
                most.set(most.get().max(under_way.get()));
                tokio::time::sleep(Duration::from_secs(100 - number as u64)).await;
                under_way.set(under_way.get() - 1);
                number
            }
        }))
        .await;
        assert_eq!(answers, (0..=ABREAST * 2).collect::<Vec<_>>());
        assert_eq!((under_way.get(), most.get()), (0, ABREAST));
    }
}
