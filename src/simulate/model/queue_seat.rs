//! This file models a seat in a queue of leases: the requests it sends, and the results of the answers.

use std::time::{Duration, SystemTime};

use elect_api::{Boottime, Candidate, Error, ErrorKind, Token, Validity};
use elect_simulation::queue::{Ask, Bid, Reply};
#[cfg(feature = "zookeeper")]
use elect_zookeeper::{Anchors, Calls};

use super::seat::{Asked, Seat};
use crate::election::ranking::Field;
use crate::election::{Answer, Call, Reply as Heard};
use crate::guard::is_off;

/// The candidate's knowledge of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryState {
    Out,
    Unknown,
    Waiting,
    Leading,
    Gone,
}

/// The way in which a store proves a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Each renewal counts from the time at which it was sent, as in etcd.
    Renewal,
    /// A later write confirms the renewals of a session, as in `ZooKeeper`.
    #[cfg(feature = "zookeeper")]
    Session,
}

/// The state that tells from which time on a lease is proven to run.
#[derive(Clone, Debug)]
enum Anchor {
    Renewal,
    #[cfg(feature = "zookeeper")]
    Session(Option<(Anchors, Calls)>),
}

/// A seat in a queue.
#[derive(Clone, Debug)]
pub struct QueueSeat {
    candidate: Candidate,
    ttl: Duration,
    /// The nonce of the present entry, or of the next one.
    nonce: u64,
    state: EntryState,
    anchor: Anchor,
    calls: u32,
    /// The number of the call under way, the call, and the time at which it began.
    under_way: Option<(u32, Call, Boottime)>,
    out: Vec<Asked<Ask>>,
    is_woken: bool,
}

impl QueueSeat {
    /// Creates the seat of this candidate. Its entries use this nonce and the following ones.
    pub fn new(candidate: Candidate, ttl: Duration, nonce: u64, proof: Proof) -> Self {
        let anchor = match proof {
            Proof::Renewal => Anchor::Renewal,
            #[cfg(feature = "zookeeper")]
            Proof::Session => Anchor::Session(None),
        };
        Self {
            candidate,
            ttl,
            nonce,
            state: EntryState::Out,
            anchor,
            calls: 0,
            under_way: None,
            out: Vec::new(),
            is_woken: false,
        }
    }

    /// Records a call that begins, and sends its request.
    fn send(&mut self, now: Boottime, call: &Call, ask: Ask) {
        self.calls += 1;
        self.under_way = Some((self.calls, call.clone(), now));
        self.out.push(Asked { call: Some(self.calls), ask });
    }

    /// Returns the request that a refresh sends at `now`; `None` if the answer is known without a request.
    fn refresh(&mut self, now: Boottime) -> Option<Ask> {
        let ask = match self.state {
            EntryState::Gone => return None,
            EntryState::Out | EntryState::Unknown => {
                self.state = EntryState::Unknown;
                Ask::Enter(Box::new(Bid {
                    nonce: self.nonce,
                    candidate: self.candidate.clone(),
                    joined: SystemTime::UNIX_EPOCH,
                    ttl: self.ttl,
                    arrived: None,
                }))
            }
            EntryState::Waiting | EntryState::Leading => Ask::Renew(self.nonce),
        };
        self.begin(now);
        Some(ask)
    }

    fn begin(&mut self, now: Boottime) {
        match &mut self.anchor {
            Anchor::Renewal => _ = now,
            #[cfg(feature = "zookeeper")]
            Anchor::Session(session) => {
                let new = || (Anchors::new(self.ttl, now), Calls::default());
                let (anchors, calls) = session.get_or_insert_with(new);
                calls.begin(now, anchors);
            }
        }
    }

    /// Returns the time from which on the lease is proven to run, after an answer to the refresh sent at `sent`. The
    /// refresh of a leader is a write.
    fn proven(&mut self, sent: Boottime, leads: bool) -> Boottime {
        match &mut self.anchor {
            #[cfg(feature = "zookeeper")]
            Anchor::Session(Some((anchors, calls))) => {
                if leads {
                    calls.confirmed(sent, anchors);
                } else {
                    calls.acknowledged(sent);
                }
                anchors.proven()
            }
            _ => {
                let _ = leads;
                sent
            }
        }
    }

    /// Takes in the answer to a refresh that was sent at `sent`.
    ///
    /// # Errors
    /// If the entry ended before it was known to exist.
    fn answered(&mut self, sent: Boottime, reply: &Reply) -> Result<Answer, Error> {
        match reply {
            Reply::Placed(place) => {
                let leads = place.ahead == 0;
                let anchor = self.proven(sent, leads);
                if !leads {
                    self.state = EntryState::Waiting;
                    return Ok(Answer::Waiting { ahead: place.ahead, alive: true });
                }
                self.state = EntryState::Leading;
                let validity = Validity::Window { anchor, window: place.ttl };
                Ok(Answer::Leading { token: Token::new(place.token), validity })
            }
            _ if matches!(self.state, EntryState::Leading) => {
                self.state = EntryState::Gone;
                Ok(Self::gone())
            }
            _ => {
                self.start_over();
                Err(Error::new(ErrorKind::Unreachable, "it ended before"))
            }
        }
    }

    fn gone() -> Answer {
        Answer::Gone("it is gone".into())
    }

    /// Returns the request of a resign; `None` if there is no entry to give up.
    fn resign(&mut self) -> Option<Ask> {
        match self.state {
            EntryState::Out => None,
            EntryState::Gone => {
                self.start_over();
                None
            }
            _ => Some(Ask::Leave(self.nonce)),
        }
    }

    /// Gives up the entry. The next entry has a new nonce.
    fn start_over(&mut self) {
        self.nonce += 1;
        self.state = EntryState::Out;
        #[cfg(feature = "zookeeper")]
        if let Anchor::Session(session) = &mut self.anchor {
            *session = None;
        }
    }
}

impl Seat for QueueSeat {
    type Ask = Ask;
    type Reply = Reply;
    type Ticket = u64;

    fn ticket(&self) -> Option<u64> {
        Some(self.nonce)
    }

    fn call(&mut self, now: Boottime, call: &Call) -> Option<Result<Heard, Error>> {
        let (ask, without) = match call {
            Call::Open(_) => (None, Heard::Opened),
            Call::Refresh => (self.refresh(now), Heard::Standing(Self::gone())),
            Call::Resign(_) => (self.resign(), Heard::Resigned),
            Call::Compare => (Some(Ask::Survey), Heard::Announced),
            _ => return Some(Err(Error::new(ErrorKind::Unfit, "this is not simulated"))),
        };
        let Some(ask) = ask else { return Some(Ok(without)) };
        self.send(now, call, ask);
        None
    }

    fn hear(&mut self, now: Boottime, call: u32, reply: Reply) -> Option<Result<Heard, Error>> {
        let (_, call, at) = self.under_way.take_if(|(number, ..)| *number == call)?;
        // A lease counts from the time at which its renewal was sent.
        let at = if is_off!(Anchor) { now } else { at };
        Some(match (call, reply) {
            (Call::Refresh, reply) => self.answered(at, &reply).map(Heard::Standing),
            (_, Reply::Survey(survey)) => {
                Ok(Heard::Field(Box::new(Field { survey: *survey, last: None })))
            }
            _ => {
                self.start_over();
                Ok(Heard::Resigned)
            }
        })
    }

    /// Ignores the answer to an errand.
    fn hear_errand(&mut self, _call: u32, _reply: Reply) {}

    fn abandon(&mut self) {
        self.under_way = None;
    }

    fn redeem(&mut self, ticket: u64) {
        self.out.push(Asked { call: None, ask: Ask::Leave(ticket) });
    }

    fn post(&mut self) -> Vec<Asked<Ask>> {
        std::mem::take(&mut self.out)
    }

    fn is_woken(&mut self) -> bool {
        std::mem::take(&mut self.is_woken)
    }

    fn wake(&mut self, nonce: u64) {
        self.is_woken |= nonce == self.nonce;
    }
}
