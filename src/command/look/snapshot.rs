//! Many elections at once: those that are named, or all, with their parts, as far as there is room.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use elect_api::{
    Boottime, Candidate, Cell, Division, ElectionName, Entry, Error, Profile, Scope, Store, Survey,
};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::{ElectionSnapshot, Proof, Vigil, control, see};
use crate::command::attempts::insist;
use crate::election::history::History;
use crate::guard;
use crate::report::ElectionStatus;

/// How many parts are looked at at once.
const ABREAST: usize = 4;

/// How much is seen at most, in bytes of texts; each candidate takes some hundreds besides. Some 25,000 of the usual kind
/// have as many.
const ROOM: usize = 16 << 20;
const BESIDES: usize = 512;
/// For how many elections there may be no room before no others are looked at.
const FULL: usize = 8;

/// How much of an election that is divided is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum Reach {
    /// What all parts have in common.
    Whole,
    /// That, and each part. Where all elections are looked at, a part is not one more of them.
    Parts,
}

/// What was seen of some elections.
#[derive(Debug)]
pub(in crate::command) struct Snapshot {
    /// When the question was sent whose answer is the oldest here.
    pub(in crate::command) at: Boottime,
    /// Each election, in the order asked for.
    pub(in crate::command) elections: Vec<ElectionSnapshot>,
    /// Those that nobody asked for by name and of which nothing could be seen.
    pub(in crate::command) left_out: Vec<(ElectionName, anyhow::Error)>,
}

impl Snapshot {
    /// Judges each leader by this look and those before. Returns when the next can tell more.
    pub(in crate::command) fn judge(&mut self, vigil: &mut Vigil) -> Option<Boottime> {
        let all = self.elections.iter_mut().flat_map(|seen| {
            let judged = vigil.judge(seen);
            let parts = seen.parts.iter_mut().map(|part| vigil.judge(part));
            parts.chain([judged]).flatten().collect::<Vec<_>>()
        });
        all.min()
    }

    /// As a report shows it.
    pub(in crate::command) fn statuses(&self, store: &Profile) -> Vec<ElectionStatus> {
        self.elections.iter().map(|seen| seen.status(store)).collect()
    }

    /// The one that was asked for, where it was one.
    pub(in crate::command) fn into_only(self) -> Survey {
        self.elections.into_iter().next().map(|seen| seen.survey).unwrap_or_default()
    }
}

/// Surveys the elections that are named, or else all, each in up to so many attempts.
///
/// # Errors
/// The store does not answer, or refuses us; also if that is so for one election that is named. There are more
/// candidates than there is room for.
pub(in crate::command) async fn look(
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
    // Those of what was seen already.
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
            // What is wrong with one election says nothing about the others.
            Err(error) if named.is_empty() && (attempts > 1 || is_final(&error)) => {
                snapshot.left_out.push((name, error));
            }
            Err(error) => return Err(error),
        }
    }
    snapshot.at = oldest.unwrap_or(snapshot.at);
    Ok(snapshot)
}

/// For how long a leader that may be dead is looked at again, and the pause between two looks.
const CLOSELY: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(500);

/// As [`look`], with more looks where one cannot tell whether a leader is dead, and its next renewal is near.
///
/// # Errors
/// As [`look`].
pub(in crate::command) async fn look_closely(
    store: &dyn Store,
    named: &[ElectionName],
    attempts: u32,
    reach: Reach,
) -> anyhow::Result<Snapshot> {
    let (end, mut vigil) = (guard::now() + CLOSELY, Vigil::default());
    loop {
        let mut snapshot = look(store, named, attempts, reach).await?;
        let next = snapshot.judge(&mut vigil);
        let all = snapshot.elections.iter().flat_map(ElectionSnapshot::elections);
        let is_missing = all.map(|seen| &seen.proof).any(|proof| *proof == Proof::Missing);
        if !is_missing || next.is_none_or(|next| next > end) || guard::now() >= end {
            return Ok(snapshot);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whom to ask, and how.
struct Asking<'a> {
    store: &'a dyn Store,
    location: String,
    attempts: u32,
    reach: Reach,
    /// How much room they take that were seen, in bytes.
    seen: usize,
    /// For how many there was no room.
    refused: usize,
}

impl Asking<'_> {
    async fn insist<T>(&self, ask: impl AsyncFnMut() -> Result<T, Error>) -> anyhow::Result<T> {
        insist(&self.location, self.attempts, ask).await
    }

    /// All elections that there are, a whole before its parts, all that are paused, and all with a past. A store may list
    /// none that nobody is in, as is the whole while all who take part have a slot.
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
                // Whoever looks at it says so.
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

    /// Whether leaders have left anything of an election of which something is kept. Where nothing is asked, they have.
    async fn has_past(&self, name: &ElectionName, is_asked: bool) -> anyhow::Result<bool> {
        if !is_asked {
            return Ok(true);
        }
        let past = async || match self.store.read(name, Cell::History).await {
            // What cannot be read is there.
            Err(error) if error.is_permanent() => Ok(true),
            found => found.map(|found| found.bytes.is_some()),
        };
        self.insist(past).await
    }

    /// One election, and its parts if those are wanted.
    async fn see(&mut self, name: &ElectionName) -> anyhow::Result<ElectionSnapshot> {
        let seen = self.see_within(name).await;
        let is_full = seen.as_ref().is_err_and(anyhow::Error::is::<NoRoom>);
        self.refused += usize::from(is_full);
        seen
    }

    /// One election, with what its history tells where the parts are looked at: since when it is led, or who led last.
    async fn see_one(&self, name: &ElectionName) -> anyhow::Result<ElectionSnapshot> {
        let mut seen = self.insist(async || see(self.store, name).await).await?;
        if self.reach == Reach::Parts && seen.division.is_whole() {
            let read = async || self.store.read(name, Cell::History).await;
            let cell = insist(&self.location, 1, read).await.ok();
            let history = cell.and_then(|cell| History::read(cell.bytes.as_deref()).ok());
            seen.learn(&history.unwrap_or_default());
        }
        Ok(seen)
    }

    async fn see_within(&mut self, name: &ElectionName) -> anyhow::Result<ElectionSnapshot> {
        let mut whole = self.see_one(name).await?;
        let mut all = room_with(self.seen, &whole)?;
        if self.reach == Reach::Parts {
            let numbers = 0..whole.division.parts().min(Division::MOST_SHARDS);
            let parts: Vec<_> =
                numbers.filter_map(|number| Division::part(name, number).ok()).collect();
            let looks = parts.iter().map(|part| self.see_one(part));
            let mut looks = stream::iter(looks).buffered(ABREAST);
            while let Some(part) = looks.try_next().await? {
                all = room_with(all, &part)?;
                whole.parts.push(ElectionSnapshot { last: None, ..part });
            }
        }
        self.seen = all;
        Ok(whole)
    }
}

/// How much room is taken with this one, in bytes. Whoever may write to the store may write as many as it takes, in as many
/// elections.
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

/// There is more than is shown at once; this election is a part of it.
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

/// Whether asking again cannot help.
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

    use super::{BESIDES, FULL, ROOM, Reach, Snapshot, look};
    use crate::command::kept::KeptCells;
    use crate::election::control::{Control, Request};
    use crate::report::StatusReport;

    /// How many candidates are in each of two parts.
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
        runtime.block_on(look(store, &named, 1, reach))
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
    fn a_named_election_that_nobody_entered_has_no_leader() {
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

    /// Nobody is in them, and each reason is as long as one may be.
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
