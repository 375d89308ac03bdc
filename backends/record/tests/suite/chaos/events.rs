//! Random events: faults of candidates, and actions of other programs.

use std::pin::Pin;

use elect_api::{Cell, If, Key, Removal, Store, Ticket, Token};
use elect_record::{Name, RecordStore};
use elect_testkit::election;

use super::{Game, nonce, poll};

/// An errand of another program; its result says whether it succeeded.
pub(super) type Errand = Pin<Box<dyn Future<Output = bool>>>;

impl Game {
    pub(super) fn event(&mut self) {
        let (now, number) = (self.now(), fastrand::usize(0..self.actors.len()));
        let is_open = self.closed <= now;
        match fastrand::u8(0..100) {
            0..8 if is_open => self.crash(number),
            8..20 if is_open => {
                let actor = &mut self.actors[number];
                (actor.leads, actor.is_leaving, actor.call, actor.due) = (None, true, None, now);
                let said = format!("{} resigns", actor.id);
                self.net.say(&said);
            }
            // A call is dropped.
            20..35 => {
                let actor = &mut self.actors[number];
                (actor.call, actor.due) = (None, now + fastrand::u64(0..500));
            }
            35..45 => self.errands.push((Box::pin(ask(self.store())), None)),
            45..60 => {
                if let Some((token, _)) = self.actors.iter().find_map(|it| it.leads) {
                    self.errands.push((Box::pin(put(self.store(), token)), None));
                }
            }
            60..63 => self.errands.push((Box::pin(forget(self.store())), None)),
            63..66 => self.remove_a_waiter(),
            66..70 if self.wipes && is_open => self.wipe(),
            // A machine is suspended.
            66..72 => self.actors[number].due = now + fastrand::u64(0..40_000),
            _ => {}
        }
    }

    /// One candidate dies. Either its ticket is redeemed, when nothing of it runs any more, or it may go on until its
    /// lease ends.
    fn crash(&mut self, number: usize) {
        let other = self.actor();
        let gone = std::mem::replace(&mut self.actors[number], other);
        let redeems = fastrand::u8(0..4) == 0;
        self.net.say(&format!("{} crashes, redeemed: {redeems}", gone.id));
        if redeems {
            let given_up = nonce(&gone.ticket);
            self.errands.push((Box::pin(redeem(self.store(), gone.ticket)), Some(given_up)));
        } else if let Some((_, until)) = gone.leads {
            self.ghosts.push((gone.id, until));
        }
    }

    fn remove_a_waiter(&self) {
        self.net.fake.with(|inner| {
            let waiters = inner.docs.keys().filter(|it| matches!(it, Name::Waiter(_)));
            let waiters: Vec<Name> = waiters.copied().collect();
            if let Some(name) = waiters.get(fastrand::usize(0..waiters.len().max(1))) {
                inner.remove(*name);
            }
        });
    }

    /// A person removes the record by hand, after all candidates have seen it.
    fn wipe(&mut self) {
        let slow = self.net.with(|wires| wires.slow);
        self.calm(110_000);
        self.net.with(|wires| (wires.calm, wires.slow) = (false, slow));
        self.net.say("the record is removed");
        self.net.fake.with(|inner| inner.remove(Name::Record));
        self.closed = self.now() + 60_000;
        self.wiped += 1;
    }

    pub(super) fn errands(&mut self) {
        let net = self.net.clone();
        self.errands.retain_mut(|(errand, given_up)| match poll(errand) {
            None => true,
            Some(is_done) => {
                if let Some(nonce) = given_up.filter(|_| is_done) {
                    net.say(&format!("{nonce:x} is redeemed"));
                    net.with(|wires| wires.given_up.insert(nonce));
                }
                false
            }
        });
    }
}

async fn redeem(store: RecordStore, ticket: Ticket) -> bool {
    for _ in 0..3 {
        if store.remove(&election(), Removal::Crashed(&ticket)).await.is_ok() {
            return true;
        }
    }
    false
}

async fn ask(store: RecordStore) -> bool {
    let Ok(found) = store.read(&election(), Cell::Control).await else { return false };
    let asks = If::Version(found.version);
    store.write(&election(), Cell::Control, b"x", asks).await.is_ok()
}

/// Writes a value, whose text is the token.
async fn put(store: RecordStore, token: u64) -> bool {
    let key: Key = "k".parse().expect("a key");
    let (text, leads) = (token.to_string(), If::Leads(Token::new(token)));
    store.write(&election(), Cell::Value(&key), text.as_bytes(), leads).await.is_ok()
}

async fn forget(store: RecordStore) -> bool {
    store.remove(&election(), Removal::Everything { fences: true }).await.is_ok()
}
