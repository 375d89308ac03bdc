mod cells;
mod leaving;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Boottime, Candidate, Cell, Durability, Error, Refreshed, Seat, Standing, Ticket, Versioned,
    WatchedCell, Written, awake,
};
use etcd_client::{GetOptions, LeaseGrantOptions, TxnResponse};

use crate::entry::Entry;
use crate::error::{Doing, Failure, Setback, is_lease_taken, is_lease_unknown, is_refused, odd};
use crate::layout::{Keyspace, LeaseId, Mark};
use crate::lease::{self, Asked, Lease, Leases};
use crate::link::{Attempt, Link};
use crate::queue::{self, Ask, Before, By, Rival, Room, Unclear};
use crate::renewal::{Heard, Proof, renew};
use crate::reply::{self, whole};
use crate::value::Value;
use crate::watch::Watch;
use crate::withdrawal::withdraw;

/// One candidate's place in one election.
///
/// Dropping it sends nothing. Its entry ends with its lease, or when the other users of the lease remove it.
pub(crate) struct EtcdSeat {
    link: Arc<Link>,
    keyspace: Keyspace,
    /// The value that the candidate's key gets.
    value: Value,
    /// The TTL to ask for, in seconds.
    ttl: i64,
    leases: Arc<Leases>,
    /// The mark of the present or the next entry, and its lease: chosen on first use.
    place: OnceLock<(Mark, Arc<Lease>)>,
    /// A request for the entry was sent at least once, and had no answer.
    may_come: bool,
    /// The lease of an entry that was removed from outside, if no other seat uses it.
    stale: Option<LeaseId>,
    room: Room,
    stage: EntryState,
    /// The member that answered last, and the term of etcd's leader at that time.
    heard: Option<Heard>,
    /// Whether the last refresh had no answer.
    is_unheard: bool,
    /// The watch on the cell that was read last.
    read: Option<Watch>,
    /// The revision at which each cell, by its key, was changed last, as far as this seat knows.
    seen: HashMap<String, i64>,
    /// The control cell, from the last answer that told the standing.
    control: Versioned,
}

/// The most rounds of a proof, which counts once two in a row show the same member and term: two, and one more for a
/// change meanwhile.
const ROUNDS: usize = 3;

enum EntryState {
    /// No request was sent for the next entry.
    Out,
    /// The seat uses the lease, and no entry is known.
    Entering,
    In(Entry),
    /// The candidate led, and has lost its entry since.
    Lost(String),
}

impl EtcdSeat {
    pub(crate) fn new(
        link: Arc<Link>,
        leases: Arc<Leases>,
        keyspace: Keyspace,
        candidate: &Candidate,
        ttl: Duration,
    ) -> Self {
        let seconds = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
        let ttl = i64::try_from(seconds).unwrap_or(i64::MAX).max(1);
        Self {
            link,
            keyspace,
            value: Value::joining(candidate),
            ttl,
            leases,
            place: OnceLock::new(),
            may_come: false,
            stale: None,
            room: Room::Usual,
            stage: EntryState::Out,
            heard: None,
            is_unheard: false,
            read: None,
            seen: HashMap::new(),
            control: Versioned::default(),
        }
    }

    fn place(&self) -> &(Mark, Arc<Lease>) {
        self.place.get_or_init(|| self.leases.place(self.ttl))
    }

    fn mark(&self) -> Mark {
        self.place().0
    }

    fn lease(&self) -> &Arc<Lease> {
        &self.place().1
    }

    /// Gives up the mark, so that the next entry has a new one that no other program has seen.
    fn start_over(&mut self) {
        let revision = match &self.stage {
            EntryState::In(entry) => Some(entry.revision().unsigned_abs()),
            EntryState::Out | EntryState::Entering | EntryState::Lost(_) => None,
        };
        if let Some((mark, lease)) = std::mem::take(&mut self.place).into_inner() {
            lease.strike(mark);
        }
        self.may_come = false;
        self.value = self.value.rejoining(revision);
        self.stage = EntryState::Out;
    }

    async fn step(&mut self, attempt: &Attempt, now: Boottime) -> Result<Standing, Setback> {
        let may_enter = self.lease().use_for(&self.keyspace, self.mark(), now);
        if matches!(self.stage, EntryState::Out) && !may_enter {
            return Err(self.too_late());
        }
        if matches!(self.stage, EntryState::Out | EntryState::Entering) {
            self.stage = EntryState::Entering;
            if let Some(standing) = self.enter(attempt, now).await? {
                return Ok(standing);
            }
        }
        let standing = self.renew(attempt, now).await?;
        self.remove_late(attempt, now);
        Ok(standing)
    }

    /// Removes the entries that other seats have left under this seat's lease.
    fn remove_late(&self, attempt: &Attempt, now: Boottime) {
        let EntryState::In(entry) = &self.stage else { return };
        for (keyspace, mark) in self.lease().take_late(now, entry.window()) {
            let (client, lease) = (attempt.client(), Arc::clone(self.lease()));
            tokio::spawn(async move {
                if withdraw(&client, &keyspace, mark, true).await.is_err() {
                    lease.forsake(&keyspace, mark);
                }
            });
        }
    }

    /// Makes the entry, or finds the one that an earlier attempt made. Returns the standing if the lease was granted
    /// just now; otherwise a renewal has to come first.
    async fn enter(
        &mut self,
        attempt: &Attempt,
        now: Boottime,
    ) -> Result<Option<Standing>, Setback> {
        let (window, is_new) = self.grant(attempt).await?;
        let store_check = attempt.store_check();
        let txn = queue::enter(
            &self.keyspace,
            self.mark(),
            self.value.to_bytes(),
            self.room,
            store_check,
        );
        let may_come = std::mem::replace(&mut self.may_come, true);
        let reply = match attempt.client().txn(txn).await.and_then(whole) {
            Ok(reply) => {
                self.may_come = may_come;
                reply
            }
            Err(cause)
                if is_refused(&cause)
                    && store_check.is_some_and(|it| !it.identity().note_refusal()) =>
            {
                // A user with rights to one election only may not read the id.
                self.may_come = may_come;
                return Box::pin(self.enter(attempt, now)).await;
            }
            Err(cause) if is_lease_unknown(&cause) => return Err(self.too_late()),
            Err(cause) => return Err(Failure { doing: Doing::Enter, cause }.into()),
        };
        if let Some(store_check) = store_check {
            store_check.admit_entering(&attempt.member(), &reply).map_err(Setback::Foreign)?;
        }
        attempt.saw(&reply);
        self.heard = Heard::of(&reply);
        let Some(revision) = self.revision_in(&reply) else {
            self.start_over();
            return Err(odd(
                "our entry was given up, or is another's: trying again makes a new one",
            ));
        };
        let own = Rival { key: self.keyspace.key(self.mark()), revision };
        let entry = Entry::new(own, window, self.keyspace.cell(Cell::Control));
        self.control = queue::control_in(&reply);
        if !is_new || !reply.succeeded() {
            self.stage = EntryState::In(entry);
            return Ok(None);
        }
        let before = entry.read(&self.keyspace, self.room, &reply);
        if before.as_ref().is_ok_and(|before| before.nearest().is_some()) {
            // Asks for the member's version now: the candidate needs it when it wins.
            attempt.trusts_reads();
        }
        let EntryState::In(entry) = self.seated(entry) else { return Ok(None) };
        match before {
            Ok(before) => Ok(Some(entry.stand(attempt, now, reply::revision_of(&reply), before))),
            Err(Unclear(room)) => {
                self.room = room;
                Ok(None)
            }
        }
    }

    fn seated(&mut self, entry: Entry) -> &mut EntryState {
        self.stage = EntryState::In(entry);
        &mut self.stage
    }

    /// Asks for the lease, unless another seat has asked already. Returns its length, and whether it was granted just
    /// now.
    async fn grant(&mut self, attempt: &Attempt) -> Result<(Duration, bool), Setback> {
        let lease = Arc::clone(self.lease());
        let mut asked = lease.asked.lock().await;
        if let Asked::Granted(window) = *asked {
            return Ok((window, false));
        }
        *asked = Asked::Sent;
        let mut leases = attempt.client().lease_client();
        let end_stale = {
            let (mut leases, stale) = (leases.clone(), self.stale.take());
            async move {
                if let Some(stale) = stale {
                    // No entry uses it any more, by all answers so far: the revocation makes sure.
                    let _ = leases.revoke(stale.get()).await;
                }
            }
        };
        let options = LeaseGrantOptions::new().with_id(lease.id.get());
        let (reply, ()) = tokio::join!(leases.grant(self.ttl, Some(options)), end_stale);
        let failed = |cause| Failure { doing: Doing::Enter, cause };
        let (ttl, is_new) = match reply {
            Ok(reply) => (reply.ttl(), true),
            // An earlier attempt succeeded, though its answer was lost.
            Err(cause) if is_lease_taken(&cause) => {
                let reply = leases.time_to_live(lease.id.get(), None).await.map_err(failed)?;
                (reply.granted_ttl(), false)
            }
            Err(cause) => return Err(failed(cause).into()),
        };
        let Some(window) = lease::granted(ttl) else { return Err(self.too_late()) };
        *asked = Asked::Granted(window);
        Ok((window, is_new))
    }

    fn too_late(&mut self) -> Setback {
        self.lease().end();
        self.start_over();
        odd("our lease was over before we were in the election: trying again helps")
    }

    /// The revision of the entry that a transaction has made or found. `None` if it belongs to another candidate.
    fn revision_in(&self, reply: &TxnResponse) -> Option<i64> {
        if reply.succeeded() {
            return Some(reply::revision_of(reply));
        }
        let found = reply::gets(reply).pop_front()?;
        let kv = found.kvs().first()?;
        let id = Value::read(kv.value())?.candidate.id;
        let is_ours = kv.lease() == self.lease().id.get() && id == self.value.candidate.id;
        is_ours.then(|| kv.create_revision())
    }

    /// Checks that etcd answers a waiter whose last refresh had no answer, before the waiter renews its lease. If
    /// requests arrive but answers do not, its entry would otherwise block the queue for good. A leader needs no check:
    /// it stops its command and resigns.
    async fn hear(&self, attempt: &Attempt) -> Result<(), Setback> {
        if matches!(&self.stage, EntryState::In(entry) if !entry.leads()) {
            let ours = GetOptions::new().with_keys_only();
            let answer =
                attempt.client().kv_client().get(self.keyspace.key(self.mark()), Some(ours)).await;
            answer.map_err(|cause| Failure { doing: Doing::Renew, cause })?;
        }
        Ok(())
    }

    /// Renews the lease, and proves the entry. The proof is a write if reads do not prove that this candidate leads.
    async fn renew(&mut self, attempt: &Attempt, now: Boottime) -> Result<Standing, Setback> {
        let leads = matches!(&self.stage, EntryState::In(entry) if entry.leads());
        let mut by = if leads && !attempt.trusts_reads() { By::Write } else { By::Read };
        loop {
            let (reply, before) = match self.prove(attempt, by).await? {
                Ok(proof) => proof,
                Err(missing) => return self.vanished(attempt, &missing),
            };
            let wins = before.as_ref().is_ok_and(|before| before.nearest().is_none());
            if wins && by == By::Read && !attempt.trusts_reads() {
                by = By::Write;
                continue;
            }
            self.control = queue::control_in(&reply);
            return self.stand(attempt, now, &reply, before);
        }
    }

    /// Returns one proof and the candidates before this one, or else the answer that does not show the entry.
    async fn prove(
        &mut self,
        attempt: &Attempt,
        by: By,
    ) -> Result<Result<(TxnResponse, Result<Before, Unclear>), TxnResponse>, Setback> {
        let mark = self.mark();
        let how = (attempt.store_check(), by);
        let EntryState::In(entry) = &mut self.stage else {
            return Err(odd("our entry is not there"));
        };
        let revision = entry.revision();
        let mut rounds = 0;
        let mut reply = loop {
            let ask = entry.ask(&self.value, self.room);
            let txn = queue::prove(&self.keyspace, mark, revision, ask, how);
            let newest = attempt.newest();
            let reply = match renew(attempt.client(), mark.lease().get(), txn).await? {
                Proof::There(reply) => attempt.admit(newest, reply)?,
                Proof::Missing(reply) => return Ok(Err(reply)),
            };
            let known = std::mem::replace(&mut self.heard, Heard::of(&reply));
            if known.is_some() && known == self.heard {
                break reply;
            }
            rounds += 1;
            if rounds == ROUNDS {
                return Err(odd("etcd changes its leader: trying again helps"));
            }
        };
        let mut before = entry.read(&self.keyspace, self.room, &reply);
        while let Err(Unclear(room)) = before {
            self.room = room;
            let txn = queue::prove(&self.keyspace, mark, revision, Ask::Before(room), how);
            let answer = attempt.client().txn(txn).await.and_then(whole);
            reply = answer.map_err(|cause| Failure { doing: Doing::Renew, cause })?;
            if !reply.succeeded() {
                return Ok(Err(reply));
            }
            before = queue::first_listed(&self.keyspace, revision, &reply);
            if room == Room::Endless {
                break;
            }
        }
        Ok(Ok((reply, before)))
    }

    fn stand(
        &mut self,
        attempt: &Attempt,
        now: Boottime,
        reply: &TxnResponse,
        before: Result<Before, Unclear>,
    ) -> Result<Standing, Setback> {
        match (&mut self.stage, before) {
            (EntryState::In(entry), Ok(before)) => {
                Ok(entry.stand(attempt, now, reply::revision_of(reply), before))
            }
            _ => Err(odd("the answer does not name the candidate ahead")),
        }
    }

    /// Records that this leader's entry is gone.
    fn lose(&mut self) -> String {
        let key = self.keyspace.key(self.mark());
        let why = format!("our entry, {key}, is gone: its lease has ended, or it was removed");
        self.stage = EntryState::Lost(why.clone());
        why
    }

    /// Handles a missing entry: a leader has lost for good, a waiter makes a new entry.
    fn vanished(&mut self, attempt: &Attempt, reply: &TxnResponse) -> Result<Standing, Setback> {
        attempt.admit_missing(reply)?;
        if matches!(&self.stage, EntryState::In(entry) if entry.leads()) {
            return Ok(Standing::Gone(self.lose()));
        }
        let ahead = reply::gets(reply).front().map_or(0, |all| queue::count(&self.keyspace, all));
        self.control = queue::control_in(reply);
        self.leave_behind();
        Ok(Standing::Waiting { ahead, alive: true, wake: awake() })
    }

    async fn refresh_over(&mut self, attempt: Attempt, now: Boottime) -> Result<Refreshed, Error> {
        let was_unheard = std::mem::replace(&mut self.is_unheard, true);
        let heard = if was_unheard { self.hear(&attempt).await } else { Ok(()) };
        let step = match heard {
            Ok(()) => self.step(&attempt, now).await,
            Err(trouble) => Err(trouble),
        };
        // A dropped refresh had no answer either.
        self.is_unheard = matches!(&step, Err(Setback::Failed(_)));
        let standing = attempt.conclude(step).await?;
        // A refresh does not look at other cells.
        if let Some(watch) = &self.read {
            watch.wake_if_broken_off();
        }
        Ok(standing.with(&self.control))
    }
}

#[async_trait]
impl Seat for EtcdSeat {
    async fn refresh(&mut self, now: Boottime) -> Result<Refreshed, Error> {
        if let EntryState::Lost(why) = &self.stage {
            return Ok(Standing::Gone(why.clone()).with(&self.control));
        }
        let attempt = self.link.attempt(self.keyspace.prefix()).await?;
        let generation = attempt.generation();
        match Box::pin(self.refresh_over(attempt, now)).await {
            // A login has expired, as each does: etcd has done nothing of this refresh.
            Err(_) if self.link.has_logged_out(generation) => {
                let attempt = self.link.attempt(self.keyspace.prefix()).await?;
                Box::pin(self.refresh_over(attempt, now)).await
            }
            outcome => outcome,
        }
    }

    async fn resign(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
        match last {
            Some((cell, bytes)) => Box::pin(self.leave_with(cell, bytes)).await,
            None => Box::pin(self.leave()).await,
        }
    }

    async fn read(&mut self, _now: Boottime, cell: Cell<'_>) -> Result<WatchedCell, Error> {
        self.read_up(cell).await
    }

    async fn write(
        &mut self,
        _now: Boottime,
        cell: Cell<'_>,
        bytes: &[u8],
        _durability: Durability,
    ) -> Result<Written, Error> {
        Box::pin(self.write_down(cell, bytes)).await
    }

    fn ticket(&self) -> Option<Ticket> {
        self.mark().ticket()
    }
}
