//! One question to a store, repeated while a repetition may help.

use std::borrow::Cow;
use std::pin::pin;
use std::time::Duration;

use elect_api::{Boottime, Error};

use crate::guard;
use crate::report::Log;

/// The number of attempts of a subcommand before a store counts as out of reach.
pub(super) const ATTEMPTS: u32 = 5;
/// The longest time for one attempt. After it, a store of several members may ask another member.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Asks the store at `location` up to `attempts` times. Stops at the first answer, and at an error that a repetition
/// does not mend.
///
/// # Errors
/// Returns the error of the last attempt.
pub(crate) async fn insist<T>(
    location: &str,
    attempts: u32,
    ask: impl AsyncFnMut() -> Result<T, Error>,
) -> anyhow::Result<T> {
    insist_until(location, attempts, None, ask).await
}

/// Works like [`insist`], and begins no further attempt at `end` or later.
///
/// # Errors
/// Returns the error of the last attempt.
pub(super) async fn insist_until<T>(
    location: &str,
    attempts: u32,
    end: Option<Boottime>,
    mut ask: impl AsyncFnMut() -> Result<T, Error>,
) -> anyhow::Result<T> {
    let mut last = anyhow::anyhow!("{location} does not answer");
    for attempt in 0..attempts {
        if attempt > 0 {
            if end.is_some_and(|end| end <= guard::now()) {
                break;
            }
            tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(attempt - 1)).await;
        }
        match tokio::time::timeout(ATTEMPT_TIMEOUT, ask()).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) if error.is_permanent() => return Err(error.into()),
            Ok(Err(error)) => last = error.into(),
            Err(_) => {}
        }
    }
    Err(with_members(location, last))
}

/// Adds to `error` how many members must answer, if the store at `location` has several: the error alone is about the
/// last member that was asked.
pub(super) fn with_members(location: &str, error: anyhow::Error) -> anyhow::Error {
    match members(location) {
        0 | 1 => error,
        number => error.context(format!(
            "a majority of the {number} members must answer (`elect doctor -b {}` asks each)",
            word(location)
        )),
    }
}

/// Returns the error that the store at `location` is silent, with what to do next.
pub(super) fn silent(location: &str) -> anyhow::Error {
    let what = anyhow::anyhow!("{location} did not answer in time");
    match members(location) {
        0 | 1 => anyhow::anyhow!("{what} (`elect doctor -b {}` asks it)", word(location)),
        _ => with_members(location, what),
    }
}

/// Returns a text as one word of a shell. A list of hosts stands without quotes.
fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+./:,@%=".contains(c);
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    shlex::try_quote(text).unwrap_or(Cow::Borrowed(text))
}

/// Returns the number of members that this URL names.
fn members(location: &str) -> usize {
    let Some((_, rest)) = location.split_once("://") else { return 0 };
    rest.split(['/', '?']).next().map_or(0, |hosts| hosts.split(',').count())
}

/// The time after which people are told that the store has not answered.
const SILENCE: Duration = Duration::from_secs(2);

/// Awaits `work`, which asks the store at `location`, and warns if it takes long.
pub(super) async fn aloud<T>(log: &Log, location: &str, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    if let Ok(done) = tokio::time::timeout(SILENCE, work.as_mut()).await {
        return done;
    }
    log.warn(format_args!("no answer from {location} for {} s; still asking", SILENCE.as_secs()));
    work.await
}

#[cfg(test)]
mod tests {
    use elect_api::{Error, ErrorKind};

    use super::{insist, members, with_members};

    async fn after(failures: u32, kind: ErrorKind) -> (u32, Result<(), String>) {
        let mut asked = 0;
        let outcome = insist("x://a", 3, async || {
            asked += 1;
            if asked > failures { Ok(()) } else { Err(Error::new(kind, format!("no {asked}"))) }
        })
        .await;
        (asked, outcome.map_err(|error| error.to_string()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_passing_error_is_retried_and_the_last_one_is_reported() {
        assert_eq!(after(2, ErrorKind::Ambiguous).await, (3, Ok(())));
        assert_eq!(after(9, ErrorKind::Unreachable).await, (3, Err("no 3".into())));
        assert_eq!(after(9, ErrorKind::Denied).await, (1, Err("no 1".into())));
    }

    #[test]
    fn of_several_members_a_majority_must_answer() {
        for (url, number) in
            [("etcd://a,b:2379,c/x?y=1,2", 3), ("zk://a", 1), ("file:///a,b", 1), ("k8s:", 0)]
        {
            assert_eq!(members(url), number, "{url}");
        }
        let told = |url| format!("{:#}", with_members(url, anyhow::anyhow!("no")));
        assert_eq!(told("zk://a"), "no");
        let words =
            "a majority of the 3 members must answer (`elect doctor -b zk://a,b,c` asks each): no";
        assert_eq!(told("zk://a,b,c"), words);
        assert!(told("etcd://a,b/x?y=1&z").contains("-b 'etcd://a,b/x?y=1&z'"));
    }

    #[tokio::test(start_paused = true)]
    async fn no_answer_is_an_error_in_the_end() {
        let outcome =
            insist("x://a", 3, async || std::future::pending::<Result<(), Error>>().await).await;
        assert_eq!(outcome.unwrap_err().to_string(), "x://a does not answer");
    }
}
