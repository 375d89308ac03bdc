//! This file models a queue of leases as etcd and `ZooKeeper` keep one: entries with their own leases, in the order of
//! their arrival.
//!
//! The queue is a pure function of requests and of the store's time. The leader of the store ends leases by its own
//! clock, at the times at which it looks for them. The first entry has the lease, and the number of the entry is the
//! token.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use elect_api::{Candidate, Ending, Entry, Leader, Renewed, Survey, Token};

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
#[derive(Clone, Debug)]
pub struct Bid {
    /// A nonce for this one entry.
    pub nonce: u64,
    /// The candidate.
    pub candidate: Candidate,
    /// The length of lease that the candidate asks for.
    pub ttl: Duration,
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

#[derive(Clone, Debug)]
struct Kept {
    bid: Bid,
    /// The time at which its lease ends without a renewal, and the time of the last renewal.
    end: Duration,
    renewed: Duration,
}

/// The times at which the store looks for leases that are over. A lease ends at such a look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looks {
    /// The time between two looks. Zero means at every instant.
    pub every: Duration,
    /// The time of the first look.
    pub first: Duration,
}

impl Looks {
    /// Returns the time of the first look at `end` or later.
    fn from(self, end: Duration) -> Duration {
        let (step, since) = (self.every.as_nanos(), end.saturating_sub(self.first).as_nanos());
        if step == 0 {
            return end;
        }
        let looks = since.div_ceil(step) * step;
        self.first + Duration::from_nanos(u64::try_from(looks).unwrap_or(u64::MAX))
    }
}

/// The queue. Times are by the clock of the store's leader, and count from any origin.
#[derive(Clone, Debug)]
pub struct Queue {
    looks: Looks,
    entries: BTreeMap<u64, Kept>,
    /// The nonces of entries that are gone. Such an entry never comes back.
    gone: BTreeSet<u64>,
    last: u64,
}

impl Queue {
    /// Creates an empty queue in a store with these looks.
    pub const fn new(looks: Looks) -> Self {
        Self { looks, entries: BTreeMap::new(), gone: BTreeSet::new(), last: 0 }
    }

    /// Answers a request at `now`. Also returns the nonces of the entries right behind an entry that has gone. Their
    /// candidates may be told of it, as by a watch.
    pub fn answer(&mut self, now: Duration, ask: &Ask) -> (Reply, Vec<u64>) {
        let mut woken = self.advance(now);
        let reply = match ask {
            Ask::Enter(bid) => match self.number_of(bid.nonce) {
                Some(number) => self.renew(now, number),
                None if self.gone.contains(&bid.nonce) => Reply::Gone,
                None => {
                    self.last += 1;
                    let kept = Kept { bid: (**bid).clone(), end: now, renewed: now };
                    self.entries.insert(self.last, kept);
                    self.renew(now, self.last)
                }
            },
            Ask::Renew(nonce) => match self.number_of(*nonce) {
                Some(number) => self.renew(now, number),
                None => Reply::Gone,
            },
            Ask::Leave(nonce) => {
                if let Some(number) = self.number_of(*nonce) {
                    self.entries.remove(&number);
                    woken.extend(self.behind(number));
                }
                self.gone.insert(*nonce);
                Reply::Left
            }
            Ask::Survey => Reply::Survey(Box::new(self.survey(now))),
        };
        (reply, woken)
    }

    fn number_of(&self, nonce: u64) -> Option<u64> {
        self.entries.iter().find(|(_, kept)| kept.bid.nonce == nonce).map(|(number, _)| *number)
    }

    fn renew(&mut self, now: Duration, number: u64) -> Reply {
        let ahead = self.entries.range(..number).count();
        let Some(kept) = self.entries.get_mut(&number) else { return Reply::Gone };
        let ttl = kept.bid.ttl;
        (kept.end, kept.renewed) = (now + ttl, now);
        Reply::Placed(Place { token: number, ahead, ttl })
    }

    /// Ends the leases that are over by `now`. Returns nonces as [`Queue::answer`] does.
    pub fn advance(&mut self, now: Duration) -> Vec<u64> {
        let looks = self.looks;
        let over = |kept: &Kept| looks.from(kept.end) <= now;
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
        self.entries.values().map(|kept| self.looks.from(kept.end)).min()
    }

    /// Gives each lease its whole length again, because another member of the store leads it from `now` on, by its own
    /// clock.
    pub fn begin_term(&mut self, now: Duration) {
        for kept in self.entries.values_mut() {
            (kept.end, kept.renewed) = (now + kept.bid.ttl, now);
        }
    }

    /// Returns the token of the candidate that has the lease, as of the last look.
    pub fn leader(&self) -> Option<Token> {
        self.entries.keys().next().map(|number| Token::new(*number))
    }

    fn behind(&self, number: u64) -> Option<u64> {
        self.entries.range(number + 1..).next().map(|(_, kept)| kept.bid.nonce)
    }

    fn survey(&self, now: Duration) -> Survey {
        let entry = |number: u64, kept: &Kept| {
            Entry::new(kept.bid.candidate.clone(), Some(SystemTime::UNIX_EPOCH), number)
        };
        let mut entries = self.entries.iter();
        let leader = entries.next().map(|(number, kept)| {
            let remaining = kept.end.saturating_sub(now);
            let ago = now.saturating_sub(kept.renewed);
            Leader {
                since: Some(SystemTime::UNIX_EPOCH),
                remaining: Some(remaining),
                renewed: Some(Renewed { at_least: ago, at_most: ago }),
                ending: Some(Ending::Within(remaining)),
                ..Leader::new(entry(*number, kept), Token::new(*number))
            }
        });
        Survey { leader, waiting: entries.map(|(number, kept)| entry(*number, kept)).collect() }
    }
}
