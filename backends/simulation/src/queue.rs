//! A queue of leases as etcd and `ZooKeeper` keep one: entries with their own leases, in the order of their arrival.
//! Simulations and tests of elect share it.
//!
//! The queue is a pure function of requests and of the store's time. The leader of the store ends leases by its own
//! clock, at the times at which it looks for them. The first entry has the lease, and the number of the entry is the
//! token.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use elect_api::{Candidate, Ending, Entry, Leader, Renewed, Survey, Token};
use serde::{Deserialize, Serialize};

/// A request of a candidate to the queue.
#[derive(Clone, Debug)]
pub enum Ask {
    /// Makes this entry. If the entry exists, renews it. If the entry existed and is gone, the answer says so.
    Enter(Box<Bid>),
    /// Renews the entry with this nonce.
    Renew(u64),
    /// Ends the entry with this nonce for good, even if it has not arrived yet.
    Leave(u64),
    /// Asks for the leader and the waiting candidates.
    Survey,
}

/// An entry that a candidate wants to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bid {
    /// A nonce for this one entry.
    pub nonce: u64,
    /// The candidate.
    pub candidate: Candidate,
    /// Its time of arrival by its own wall clock. It is shown to people only.
    pub joined: SystemTime,
    /// The length of lease that the candidate asks for.
    pub ttl: Duration,
    /// The number of its first place, if it has given that one up since then to come again.
    pub arrived: Option<u64>,
}

/// An answer of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The entry exists, and its lease starts again.
    Placed(Place),
    /// The entry does not exist, and will not exist again.
    Gone,
    /// The entry does not exist any more.
    Left,
    /// The leader and the waiting candidates.
    Survey(Box<Survey>),
}

/// The place of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number, which is the token if it leads.
    pub token: u64,
    /// The number of entries before it. The entry leads if there are none.
    pub ahead: usize,
    /// The length of its lease.
    pub ttl: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    bid: Bid,
    /// The time at which its lease ends, by what the members have told each other.
    end: Duration,
    /// The time of the last renewal.
    renewed: Duration,
    /// The time at which its member will tell the others that it has heard of the candidate.
    told: Option<Duration>,
    /// Its member died. The candidate talks to another one, which asks about it at once.
    reconnects: bool,
}

impl Kept {
    /// Returns the time at which the lease ends, if the candidate is not heard of again.
    fn end(&self) -> Duration {
        self.told.filter(|told| *told <= self.end).map_or(self.end, |told| told + self.bid.ttl)
    }

    /// Takes in everything that was told until `now`.
    fn hear(&mut self, now: Duration) {
        if self.told.is_some_and(|told| told <= now) {
            (self.end, self.told) = (self.end(), None);
        }
    }

    fn renew(&mut self, now: Duration, tells: Option<Rounds>) {
        self.renewed = now;
        match tells {
            Some(tells) if !self.reconnects => {
                self.hear(now);
                self.told = Some(self.told.unwrap_or_else(|| tells.from(now)));
            }
            _ => (self.end, self.told, self.reconnects) = (now + self.bid.ttl, None, false),
        }
    }
}

/// The regular times of a task of the store, which ends leases or tells other members of a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// The time between two rounds. Zero means at every instant.
    pub every: Duration,
    /// The time of the first round.
    pub first: Duration,
}

impl Rounds {
    /// Returns the time of the first round at `end` or later.
    fn from(self, end: Duration) -> Duration {
        let (step, since) = (self.every.as_nanos(), end.saturating_sub(self.first).as_nanos());
        if step == 0 {
            return end;
        }
        let rounds = since.div_ceil(step) * step;
        self.first + Duration::from_nanos(u64::try_from(rounds).unwrap_or(u64::MAX))
    }
}

/// The queue. Times are by the clock of the store's leader, and count from any origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    rounds: Rounds,
    tells: Option<Rounds>,
    entries: BTreeMap<u64, Kept>,
    /// The nonces of entries that are gone. Such an entry never comes back.
    gone: BTreeSet<u64>,
    last: u64,
}

impl Queue {
    /// Creates an empty queue whose store ends leases in these rounds.
    pub const fn new(rounds: Rounds) -> Self {
        Self { rounds, tells: None, entries: BTreeMap::new(), gone: BTreeSet::new(), last: 0 }
    }

    /// Has the member that serves a candidate tell the others so often that it has heard of the candidate. Only then is
    /// a lease prolonged, as the sessions of `ZooKeeper` are.
    #[must_use]
    pub fn telling_every(mut self, span: Option<Duration>) -> Self {
        self.tells = span.map(|every| Rounds { every, first: Duration::ZERO });
        self
    }

    /// Answers a request at `now`. Also returns the nonces of the entries right behind an entry that has gone. Their
    /// candidates may be told of it, as by a watch.
    pub fn answer(&mut self, now: Duration, ask: &Ask) -> (Reply, Vec<u64>) {
        let mut woken = self.advance(now);
        let reply = match ask {
            Ask::Enter(bid) => {
                if !self.enter(now, bid) {
                    self.renew(now, bid.nonce);
                }
                self.place(bid.nonce).map_or(Reply::Gone, Reply::Placed)
            }
            Ask::Renew(nonce) => {
                self.renew(now, *nonce);
                self.place(*nonce).map_or(Reply::Gone, Reply::Placed)
            }
            Ask::Leave(nonce) => {
                woken.extend(self.end(*nonce));
                Reply::Left
            }
            Ask::Survey => Reply::Survey(Box::new(self.survey(now))),
        };
        (reply, woken)
    }

    fn number_of(&self, nonce: u64) -> Option<u64> {
        self.entries.iter().find(|(_, kept)| kept.bid.nonce == nonce).map(|(number, _)| *number)
    }

    /// Makes an entry. Returns false if the entry exists, or has existed.
    pub fn enter(&mut self, now: Duration, bid: &Bid) -> bool {
        let is_new = !self.has(bid.nonce) && !self.is_gone(bid.nonce);
        if is_new {
            self.last += 1;
            let (bid, end) = (bid.clone(), now + bid.ttl);
            let kept = Kept { bid, end, renewed: now, told: None, reconnects: false };
            self.entries.insert(self.last, kept);
        }
        is_new
    }

    /// Renews the entry with this nonce, if it exists.
    pub fn renew(&mut self, now: Duration, nonce: u64) {
        let number = self.number_of(nonce);
        if let Some(kept) = number.and_then(|number| self.entries.get_mut(&number)) {
            kept.renew(now, self.tells);
        }
    }

    /// Ends the entry with this nonce for good. Returns the nonce of the entry right behind it.
    pub fn end(&mut self, nonce: u64) -> Option<u64> {
        self.gone.insert(nonce);
        let number = self.number_of(nonce)?;
        self.entries.remove(&number);
        self.behind(number)
    }

    /// Ends the leases that are over by `now`. Returns nonces as [`Queue::answer`] does.
    pub fn advance(&mut self, now: Duration) -> Vec<u64> {
        let rounds = self.rounds;
        let over = |kept: &Kept| rounds.from(kept.end()) <= now;
        let ended: Vec<u64> =
            self.entries.iter().filter(|(_, kept)| over(kept)).map(|(number, _)| *number).collect();
        for number in &ended {
            if let Some(kept) = self.entries.remove(number) {
                self.gone.insert(kept.bid.nonce);
            }
        }
        ended.into_iter().filter_map(|number| self.behind(number)).collect()
    }

    /// Returns the time at which the next lease ends without a renewal.
    pub fn next_end(&self) -> Option<Duration> {
        self.entries.values().map(|kept| self.rounds.from(kept.end())).min()
    }

    /// Gives each lease its whole length again, because another member of the store leads it from `now` on, by its own
    /// clock.
    pub fn begin_term(&mut self, now: Duration) {
        for kept in self.entries.values_mut() {
            (kept.end, kept.renewed, kept.told) = (now + kept.bid.ttl, now, None);
        }
    }

    /// Loses what the member of the candidates whose ids begin like this has not told the others yet.
    pub fn lose_member(&mut self, now: Duration, candidate: &str) {
        for kept in self.entries.values_mut() {
            if kept.bid.candidate.id.starts_with(candidate) {
                kept.hear(now);
                (kept.told, kept.reconnects) = (None, true);
            }
        }
    }

    /// Returns whether the entry with this nonce exists.
    pub fn has(&self, nonce: u64) -> bool {
        self.number_of(nonce).is_some()
    }

    /// Returns whether the entry with this nonce is gone, and will not come back.
    pub fn is_gone(&self, nonce: u64) -> bool {
        self.gone.contains(&nonce)
    }

    /// Returns all entries with their numbers, the leader first.
    pub fn bids(&self) -> impl DoubleEndedIterator<Item = (u64, &Bid)> {
        self.entries.iter().map(|(number, kept)| (*number, &kept.bid))
    }

    /// Returns the place of the entry with this nonce.
    pub fn place(&self, nonce: u64) -> Option<Place> {
        let token = self.number_of(nonce)?;
        let ahead = self.entries.range(..token).count();
        Some(Place { token, ahead, ttl: self.entries.get(&token)?.bid.ttl })
    }

    /// Returns the token of the candidate that has the lease, as of the last round.
    pub fn leader(&self) -> Option<Token> {
        self.entries.keys().next().map(|number| Token::new(*number))
    }

    /// Returns the token and the bid of the candidate that has the lease, and when the lease ends without a renewal.
    pub fn leads(&self) -> Option<(u64, &Bid, Duration)> {
        let (number, kept) = self.entries.first_key_value()?;
        Some((*number, &kept.bid, kept.end()))
    }

    fn behind(&self, number: u64) -> Option<u64> {
        self.entries.range(number + 1..).next().map(|(_, kept)| kept.bid.nonce)
    }

    /// Returns the leader and the waiting candidates. If members tell each other only now and then, it does not show
    /// renewals.
    pub fn survey(&self, now: Duration) -> Survey {
        let entry = |number: u64, bid: &Bid| {
            let arrival = bid.arrived.unwrap_or(number);
            Entry::new(bid.candidate.clone(), Some(bid.joined), arrival)
        };
        let mut entries = self.entries.iter();
        let leader = entries.next().map(|(number, kept)| {
            let remaining = kept.end().saturating_sub(now);
            let ago = now.saturating_sub(kept.renewed);
            let renewed = Renewed { at_least: ago, at_most: ago };
            Leader {
                since: Some(kept.bid.joined),
                remaining: Some(remaining),
                renewed: self.tells.is_none().then_some(renewed),
                ending: Some(Ending::Within(remaining)),
                ..Leader::new(entry(*number, &kept.bid), Token::new(*number))
            }
        });
        let waiting = entries.map(|(number, kept)| entry(*number, &kept.bid)).collect();
        Survey { leader, waiting }
    }
}
