use std::time::Duration;

use elect_api::Boottime;

use super::{Look, Lookout, Seen};
use crate::command::candidacy::BootClock;
use crate::election::driver::Clock as _;
use crate::guard;
use crate::report::Log;

/// How long the first look may take, however little time there is.
const FIRST_LOOK: Duration = Duration::from_secs(2);

/// What comes of waiting until an election is so.
#[derive(Debug)]
pub(in crate::command) enum Until {
    /// It is so, and this was seen.
    So(Seen),
    /// The time was over before. This was seen last.
    NotSo(Seen),
    /// The time was over before the store had answered once, and why.
    Unknown(String),
}

/// Waits until the only election of a look-out is so, or until `end`; without end if `None`. A store that falls
/// silent is asked until it answers, and the log says so once. One look is owed to whoever has no time at all, if it
/// does not take long.
///
/// # Errors
/// The store refuses us.
pub(in crate::command) async fn until(
    mut lookout: Lookout,
    end: Option<Boottime>,
    log: &Log,
    mut is_met: impl FnMut(&Seen) -> bool,
) -> anyhow::Result<Until> {
    let clock = BootClock::new()?;
    // What was seen last, and what was wrong last.
    let (mut seen, mut trouble): (Option<Seen>, Option<String>) = (None, None);
    let mut has_complained = false;
    let patience = guard::now() + FIRST_LOOK;
    loop {
        let is_due = seen.is_some() || trouble.is_some();
        let end = end.map(|end| if is_due { end } else { end.max(patience) });
        let look = tokio::select! {
            biased;
            look = lookout.next() => look?,
            () = clock.until(end) => break,
        };
        match look {
            Look::Seen(sight) => {
                for now in sight.elections {
                    if is_met(&now) {
                        return Ok(Until::So(now));
                    }
                    seen = Some(now);
                }
            }
            Look::Silent(silence) => {
                if silence.is_outage && !std::mem::replace(&mut has_complained, true) {
                    log.warn(format_args!("waiting for the store: {}", silence.reason));
                }
                trouble = Some(silence.reason);
            }
        }
    }
    let silence = || trouble.unwrap_or_else(|| "the store is silent".to_owned());
    Ok(seen.map_or_else(|| Until::Unknown(silence()), Until::NotSo))
}
