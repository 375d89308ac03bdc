//! A queue of leases as etcd and `ZooKeeper` keep one: entries with leases of their own, in the order of their arrival.
//!
//! A pure function of requests and of the store's time. Who leads the store ends leases, by its own clock, where it looks
//! at them; whoever stands first has the lease, and the number of its entry is the token.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use elect_api::{Candidate, Ending, Entry, Leader, Renewed, Survey, Token};

/// What a candidate asks of the queue.
#[derive(Clone, Debug)]
pub enum Ask {
    /// Make this entry. If it is there, renew it; if it has been and is gone, say so.
    Enter(Box<Bid>),
    /// Renew the entry with this nonce.
    Renew(u64),
    /// End the entry with this nonce for good, also if its making is still under way.
    Leave(u64),
    /// Tell who leads and who waits.
    Survey,
}

/// An entry that a candidate wants to have.
#[derive(Clone, Debug)]
pub struct Bid {
    /// Drawn for this one entry.
    pub nonce: u64,
    /// Who it is.
    pub candidate: Candidate,
    /// The length of lease that it asks for.
    pub ttl: Duration,
}

/// What the queue answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The entry is there, and its lease runs anew.
    Placed(Place),
    /// There is no such entry, and there will be none.
    Gone,
    /// There is no such entry any more.
    Left,
    /// Who leads and who waits.
    Survey(Box<Survey>),
}

/// Where an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number: the token if it leads.
    pub token: u64,
    /// How many are before it; it leads if there are none.
    pub ahead: usize,
    /// The length of its lease.
    pub ttl: Duration,
}

#[derive(Clone, Debug)]
struct Kept {
    bid: Bid,
    /// When its lease ends without a renewal, and when it was renewed.
    end: Duration,
    renewed: Duration,
}

/// When the store looks for leases that are over: a lease ends there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looks {
    /// How often; at every instant if it is zero.
    pub every: Duration,
    /// The first time.
    pub first: Duration,
}

impl Looks {
    /// The first look at `end` or later.
    fn from(self, end: Duration) -> Duration {
        let (step, since) = (self.every.as_nanos(), end.saturating_sub(self.first).as_nanos());
        if step == 0 {
            return end;
        }
        let looks = since.div_ceil(step) * step;
        self.first + Duration::from_nanos(u64::try_from(looks).unwrap_or(u64::MAX))
    }
}

/// The queue. Instants are by the clock of who leads the store, from any beginning.
#[derive(Clone, Debug)]
pub struct Queue {
    looks: Looks,
    entries: BTreeMap<u64, Kept>,
    /// The nonces of entries that are gone: none of them comes back.
    gone: BTreeSet<u64>,
    last: u64,
}

impl Queue {
    /// An empty queue in a store that looks then.
    pub const fn new(looks: Looks) -> Self {
        Self { looks, entries: BTreeMap::new(), gone: BTreeSet::new(), last: 0 }
    }

    /// Answers a request at `now`. The nonces are those of entries right behind one that has gone: who has them may be told,
    /// as by a watch.
    pub fn answer(&mut self, now: Duration, ask: &Ask) -> (Reply, Vec<u64>) {
        let mut woken = self.settle(now);
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

    /// Ends the leases that are over by `now`. The nonces are as in [`Queue::answer`].
    pub fn settle(&mut self, now: Duration) -> Vec<u64> {
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

    /// When the next lease ends without a renewal.
    pub fn next_end(&self) -> Option<Duration> {
        self.entries.values().map(|kept| self.looks.from(kept.end)).min()
    }

    /// Another member of the store leads it from `now` on, by its own clock: each lease has its whole length again.
    pub fn begin_term(&mut self, now: Duration) {
        for kept in self.entries.values_mut() {
            (kept.end, kept.renewed) = (now + kept.bid.ttl, now);
        }
    }

    /// The token of who has the lease, as of the last look.
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
