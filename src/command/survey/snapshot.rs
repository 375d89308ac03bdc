//! A survey of many elections: the named ones, or all, with their parts, as far as there is room.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use elect_api::{
    Boottime, Candidate, Cell, Division, ElectionName, Entry, Error, Profile, Scope, Store, Survey,
};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::{ElectionSnapshot, Proof, Vigil, control, survey_one};
use crate::command::attempts::{aloud, insist};
use crate::election::history::History;
use crate::guard;
use crate::report::{ElectionStatus, Log};

/// The number of parts that are surveyed at the same time.
const ABREAST: usize = 4;

/// The most bytes that the texts of all candidates may have. Some 25,000 usual candidates have as many.
const ROOM: usize = 16 << 20;
/// The bytes that a candidate takes beside its texts.
const BESIDES: usize = 512;
/// The survey ends when there was no room for more than this number of elections.
const FULL: usize = 8;

/// How much of a divided election is surveyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum Reach {
    /// Only the election as a whole.
    Whole,
    /// The whole and each part. In a survey of all elections, a part is shown below its whole only.
    Parts,
}

/// Several elections as one survey saw them.
#[derive(Debug)]
pub(in crate::command) struct Snapshot {
    /// The instant before the oldest of the questions was sent.
    pub(in crate::command) at: Boottime,
    /// The elections, in the order of the request.
    pub(in crate::command) elections: Vec<ElectionSnapshot>,
    /// The elections that were not named and could not be surveyed, with the reasons.
    pub(in crate::command) left_out: Vec<(ElectionName, anyhow::Error)>,
}

impl Snapshot {
    /// Judges each leader by this survey and the earlier ones. Returns the instant at which the next can tell more.
    pub(in crate::command) fn judge(&mut self, vigil: &mut Vigil) -> Option<Boottime> {
        let all = self.elections.iter_mut().flat_map(|seen| {
            let judged = vigil.judge(seen);
            let parts = seen.parts.iter_mut().map(|part| vigil.judge(part));
            parts.chain([judged]).flatten().collect::<Vec<_>>()
        });
        all.min()
    }

    /// Returns the elections as a report shows them.
    pub(in crate::command) fn statuses(&self, store: &Profile) -> Vec<ElectionStatus> {
        self.elections.iter().map(|seen| seen.status(store)).collect()
    }

    /// Returns the candidates of the first election. It is the only one if the request named one.
    pub(in crate::command) fn into_only(self) -> Survey {
        self.elections.into_iter().next().map(|seen| seen.survey).unwrap_or_default()
    }
}

/// Surveys the named elections, or all if none is named. Each question is asked up to `attempts` times.
///
/// # Errors
/// The store does not answer, or refuses access, also if only one of the named elections is affected. There are more
/// candidates than there is room for.
pub(in crate::command) async fn survey_all(
    store: &dyn Store,
    named: &[ElectionName],
    attempts: u32,
    reach: Reach,
) -> anyhow::Result<Snapshot> {
    let location = store.profile().location;
    let mut asking = Asking { store, location, attempts, reach, seen: 0, refused: 0 };
    let mut snapshot = Snapshot { at: guard::now(), elections: Vec::new(), left_out: Vec::new() };
    let all = match named {
        [] => asking.all().await?,
        named => named.to_vec(),
    };
    let mut oldest = None;
    // The parts of the elections that were surveyed already.
    let mut parts = BTreeSet::new();
    for name in all {
        if named.is_empty() && parts.contains(&name) {
            continue;
        }
        match asking.see(&name).await {
            Ok(seen) => {
                oldest.get_or_insert(seen.asked);
                parts.extend(seen.parts.iter().map(|part| part.election.clone()));
                snapshot.elections.push(seen);
            }
            Err(error) if named.is_empty() && asking.refused > FULL => {
                let why = "there is no room for it, nor for those after it";
                snapshot.left_out.push((name, error.context(why)));
                break;
            }
            // A failure of one election says nothing about the others.
            Err(error) if named.is_empty() && (attempts > 1 || is_final(&error)) => {
                snapshot.left_out.push((name, error));
            }
            Err(error) => return Err(error),
        }
    }
    snapshot.at = oldest.unwrap_or(snapshot.at);
    Ok(snapshot)
}

/// A leader that may be dead is surveyed again for this share of the usual TTL. That is the time of two renewals: if the
/// next one is not due within what is left, no survey waits for it.
const CLOSELY: u32 = 3;
/// The pause between two of these surveys.
const PAUSE: Duration = Duration::from_millis(500);

/// Surveys as [`survey_all`] does. It repeats the survey if one cannot tell whether a leader is dead, and the next
/// renewal is near. A survey that takes long is logged.
///
/// # Errors
/// As for [`survey_all`].
pub(in crate::command) async fn survey_closely(
    store: &dyn Store,
    named: &[ElectionName],
    attempts: u32,
    reach: Reach,
    log: &Log,
) -> anyhow::Result<Snapshot> {
    let Profile { location, usual_ttl, .. } = store.profile();
    let (end, mut vigil) = (guard::now() + usual_ttl / CLOSELY, Vigil::default());
    loop {
        let survey = survey_all(store, named, attempts, reach);
        let mut snapshot = aloud(log, &location, survey).await?;
        let next = snapshot.judge(&mut vigil);
        let all = snapshot.elections.iter().flat_map(ElectionSnapshot::elections);
        let is_missing = all.map(|seen| &seen.proof).any(|proof| *proof == Proof::Missing);
        if !is_missing || next.is_none_or(|next| next > end) || guard::now() >= end {
            return Ok(snapshot);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// A survey that is under way.
struct Asking<'a> {
    store: &'a dyn Store,
    location: String,
    attempts: u32,
    reach: Reach,
    /// The room that the surveyed elections take, in bytes.
    seen: usize,
    /// The number of elections for which there was no room.
    refused: usize,
}

impl Asking<'_> {
    async fn insist<T>(&self, ask: impl AsyncFnMut() -> Result<T, Error>) -> anyhow::Result<T> {
        insist(&self.location, self.attempts, ask).await
    }

    /// Returns all elections with candidates, a pause or a past, each whole before its parts. A store may not list an
    /// election without candidates, such as the whole of a divided one while all candidates have a slot.
    async fn all(&self) -> anyhow::Result<Vec<ElectionName>> {
        let all = self.insist(async || self.store.list(Scope::Entered).await).await?;
        let mut all = BTreeSet::from_iter(all);
        let asked = self.insist(async || self.store.list(Scope::Asked).await).await?;
        let asked = BTreeSet::from_iter(asked);
        for name in self.insist(async || self.store.list(Scope::Kept).await).await? {
            if !all.contains(&name) && self.has_past(&name, asked.contains(&name)).await? {
                all.insert(name);
            }
        }
        let wholes: BTreeSet<_> = all.iter().filter_map(Division::whole).collect();
        for name in asked {
            if all.contains(&name) {
                continue;
            }
            let control = match self.insist(async || control(self.store, &name).await).await {
                Ok(control) => control,
                // The survey of this election reports the error.
                Err(error) if is_final(&error) => {
                    all.insert(name);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let is_whole_of_some = wholes.contains(&name) && !control.division().is_whole();
            if control.pausing().is_some() || is_whole_of_some {
                all.insert(name);
            }
        }
        Ok(all.into_iter().collect())
    }

    /// Returns whether the election has a history. Without a control cell something else is kept: what leaders wrote,
    /// or a fence.
    async fn has_past(&self, name: &ElectionName, is_asked: bool) -> anyhow::Result<bool> {
        if !is_asked {
            return Ok(true);
        }
        let past = async || match self.store.read(name, Cell::History).await {
            // An unreadable history is there.
            Err(error) if error.is_permanent() => Ok(true),
            found => found.map(|found| found.bytes.is_some()),
        };
        self.insist(past).await
    }

    /// Surveys one election, and its parts if the reach includes them.
    async fn see(&mut self, name: &ElectionName) -> anyhow::Result<ElectionSnapshot> {
        let seen = self.see_within(name).await;
        let is_full = seen.as_ref().is_err_and(anyhow::Error::is::<NoRoom>);
        self.refused += usize::from(is_full);
        seen
    }

    /// Surveys one election. If the reach includes parts, its history tells since when it is led, or who led last.
    async fn see_part(&self, name: &ElectionName) -> anyhow::Result<ElectionSnapshot> {
        let mut seen = self.insist(async || survey_one(self.store, name).await).await?;
        if self.reach == Reach::Parts && seen.division.is_whole() {
            let read = async || self.store.read(name, Cell::History).await;
            let cell = insist(&self.location, 1, read).await.ok();
            let history = cell.and_then(|cell| History::read(cell.bytes.as_deref()).ok());
            seen.learn(&history.unwrap_or_default());
        }
        Ok(seen)
    }

    async fn see_within(&mut self, name: &ElectionName) -> anyhow::Result<ElectionSnapshot> {
        let mut whole = self.see_part(name).await?;
        let mut all = room_with(self.seen, &whole)?;
        if self.reach == Reach::Parts {
            let numbers = 0..whole.division.parts().min(Division::MOST_SHARDS);
            let parts: Vec<_> =
                numbers.filter_map(|number| Division::part(name, number).ok()).collect();
            let surveys = parts.iter().map(|part| self.see_part(part));
            let mut surveys = stream::iter(surveys).buffered(ABREAST);
            while let Some(part) = surveys.try_next().await? {
                all = room_with(all, &part)?;
                whole.parts.push(ElectionSnapshot { last: None, ..part });
            }
        }
        self.seen = all;
        Ok(whole)
    }
}

/// Returns the room that is taken with this election, in bytes. A client that may write to the store can fill any
/// number of elections with any number of entries.
fn room_with(before: usize, seen: &ElectionSnapshot) -> Result<usize, NoRoom> {
    let each = |entry: &Entry| {
        let Candidate { id, host, command, containment, .. } = &entry.candidate;
        BESIDES + id.len() + host.len() + command.len() + containment.len()
    };
    let pause = seen.pause.as_ref();
    let texts = pause.map_or(0, |it| it.by().len() + it.reason().map_or(0, str::len));
    let all = before + BESIDES + texts + seen.survey.entries().map(each).sum::<usize>();
    if all <= ROOM { Ok(all) } else { Err(NoRoom(seen.election.clone())) }
}

/// The candidates take more room than there is. This is the first election without room.
#[derive(Debug)]
struct NoRoom(ElectionName);

impl std::error::Error for NoRoom {}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = Division::whole(&self.0);
        let one = one.as_ref().unwrap_or(&self.0);
        write!(
            f,
            "there is more than is shown at once: name one election, or one part of it, as {one}:0"
        )
    }
}

/// Returns whether further questions cannot help.
pub(super) fn is_final(error: &anyhow::Error) -> bool {
    error.is::<NoRoom>()
        || error.chain().any(|cause| cause.downcast_ref::<Error>().is_some_and(Error::is_permanent))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use async_trait::async_trait;
    use elect_api::{
        Candidate, Cell, Division, ElectionName, Entry, Error, ErrorKind, If, Keys, Leader, Lease,
        Order, Profile, Removal, Scope, Seat, Store, Survey, Token, Versioned, Written,
    };

    use super::{BESIDES, FULL, ROOM, Reach, Snapshot, survey_all};
    use crate::command::cells::KeptCells;
    use crate::election::control::{Control, Request};
    use crate::report::StatusReport;

    /// The number of candidates in each of two parts.
    const SOME: usize = (ROOM - 4 * BESIDES) / 2 / (BESIDES + "awebjobscan".len());

    /// A store with one election that is led and one that is not; or with so many that are paused.
    #[derive(Default)]
    struct Fake {
        paused: usize,
    }

    #[async_trait]
    impl Store for Fake {
        fn profile(&self) -> Profile {
            Profile::new("fake", "fake:here".to_owned(), Lease::Unlimited, Order::Queue)
        }

        async fn open(
            &self,
            _: &ElectionName,
            _: &Candidate,
            _: Duration,
        ) -> Result<Box<dyn Seat>, Error> {
            Err(Error::new(ErrorKind::Denied, "a status must not take part"))
        }

        async fn read(&self, election: &ElectionName, cell: Cell<'_>) -> Result<Versioned, Error> {
            let unfit = |what| Error::new(ErrorKind::Unfit, what);
            match election.as_str() {
                "closed" if cell == Cell::Control => {
                    return Err(Error::new(ErrorKind::Denied, "not for you"));
                }
                "elsewhere" => return Err(unfit("another store answers")),
                "damaged" => return Err(unfit("it holds no control cell").of_a_text()),
                _ => {}
            }
            let mut asked = Versioned::default();
            if self.paused > 0 {
                let long = |bytes: usize| "\u{1f600}".repeat(bytes / 4);
                let request = Request::new(long(1 << 12), Some(long(1 << 12)));
                asked.bytes = Some(Control::default().paused(Some(request)).to_bytes());
            }
            if election.as_str() == "crowd" && cell == Cell::Control {
                asked.bytes = Some(Control::default().divided(Division::Shards(3)).to_bytes());
            }
            Ok(asked)
        }

        async fn write(
            &self,
            _: &ElectionName,
            _: Cell<'_>,
            _: &[u8],
            _: If,
        ) -> Result<Written, Error> {
            Err(Error::new(ErrorKind::Denied, "a status must not write"))
        }

        async fn survey(&self, election: &ElectionName) -> Result<Survey, Error> {
            if !matches!(election.as_str(), "led" | "crowd:0" | "crowd:2") {
                return Ok(Survey::default());
            }
            let candidate = Candidate {
                id: "a".to_owned(),
                host: "web".to_owned(),
                pid: 1,
                command: "job".to_owned(),
                containment: "scan".to_owned(),
                priority: Candidate::USUAL_PRIORITY,
                division: Division::Whole,
                work: None,
            };
            let entry = Entry::new(candidate, Some(UNIX_EPOCH), 0);
            let waiting = if election.as_str() == "led" { 0 } else { SOME - 1 };
            Ok(Survey {
                waiting: vec![entry.clone(); waiting],
                leader: Some(Leader {
                    since: Some(UNIX_EPOCH),
                    ..Leader::new(entry, Token::new(1))
                }),
            })
        }

        async fn remove(&self, _: &ElectionName, _: Removal<'_>) -> Result<(), Error> {
            Err(Error::new(ErrorKind::Denied, "a status must not remove anything"))
        }

        async fn list(&self, scope: Scope) -> Result<Vec<ElectionName>, Error> {
            if self.paused > 0 {
                let all = if scope == Scope::Asked { self.paused } else { 0 };
                return Ok((0..all)
                    .filter_map(|number| format!("p{number}").parse().ok())
                    .collect());
            }
            let names: &[&str] = match scope {
                Scope::Entered => &["idle", "led"],
                Scope::Asked => &["closed", "led", "resumed"],
                Scope::Kept => &["closed", "led", "nightly", "resumed"],
            };
            Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
        }

        async fn keys(&self, _: &ElectionName) -> Result<Keys, Error> {
            Ok(Keys::default())
        }
    }

    fn seen(named: &[&str], reach: Reach) -> anyhow::Result<Snapshot> {
        seen_in(&Fake::default(), named, reach)
    }

    fn seen_in(store: &Fake, named: &[&str], reach: Reach) -> anyhow::Result<Snapshot> {
        let named: Vec<ElectionName> = named.iter().map(|name| name.parse().unwrap()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(survey_all(store, &named, 1, reach))
    }

    fn names_seen(named: &[&str]) -> (Vec<String>, bool) {
        let snapshot = seen(named, Reach::Parts).unwrap();
        let report = StatusReport { elections: snapshot.statuses(&Fake::default().profile()) };
        assert!(report.elections.iter().all(|election| election.backend == "fake:here"));
        let left_out: Vec<_> = snapshot.left_out.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(left_out, if named.is_empty() { vec!["closed"] } else { vec![] });
        let led = report.is_led();
        (report.elections.into_iter().map(|election| election.election).collect(), led)
    }

    #[test]
    fn all_elections_if_none_is_named() {
        let all = ["idle", "led", "nightly"].map(str::to_owned).to_vec();
        assert_eq!(names_seen(&[]), (all, false));
    }

    #[test]
    fn a_named_election_without_candidates_has_no_leader() {
        assert_eq!(names_seen(&["led"]), (vec!["led".to_owned()], true));
        assert!(!names_seen(&["led", "unheard-of"]).1);
    }

    /// Another store knows nothing of what is asked in ours.
    #[test]
    fn only_a_text_that_cannot_be_read_asks_nothing() {
        assert!(!names_seen(&["damaged"]).1);
        let refusal = seen(&["elsewhere"], Reach::Whole).expect_err("another store").to_string();
        assert_eq!(refusal, "another store answers");
        let fake = Fake::default();
        let kept = |name: &str| {
            let name: ElectionName = name.parse().unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            runtime.unwrap().block_on(KeptCells::read(&fake, &name, 1))
        };
        assert!(!kept("damaged").expect("it is there").is_nothing());
        assert_eq!(kept("elsewhere").expect_err("another store").to_string(), refusal);
    }

    #[test]
    fn no_more_candidates_are_seen_than_there_is_room_for() {
        let snapshot = seen(&["crowd"], Reach::Parts).expect("just as many as there may be");
        assert_eq!(snapshot.elections[0].parts.len(), 3);
        let refusal =
            seen(&["led", "led", "led", "crowd"], Reach::Parts).expect_err("more").to_string();
        assert!(refusal.contains("name one election, or one part of it, as crowd:0"), "{refusal}");
        seen(&["led", "crowd"], Reach::Whole).expect("the parts are not looked at");
    }

    /// The elections have no candidates, and each reason is as long as a reason may be.
    #[test]
    fn pauses_take_room_as_well() {
        let snapshot = seen_in(&Fake { paused: 3000 }, &[], Reach::Whole)
            .expect("as many as there is room for");
        let (seen, left_out) = (snapshot.elections.len(), snapshot.left_out.len());
        assert!(seen > 1000 && seen < ROOM / (1 << 13), "{seen}");
        assert_eq!(left_out, FULL + 1, "the others are not looked at");
        let last = format!("{:#}", snapshot.left_out[FULL].1);
        assert!(last.starts_with("there is no room for it, nor for those after it"), "{last}");
    }
}
