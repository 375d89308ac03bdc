//! A seat in a simulated queue, as a state and no future: what is sent, and what comes of the answer.

use std::time::Duration;

use elect_api::{Boottime, Candidate, Division, Error, ErrorKind, Token, Validity};
#[cfg(feature = "zookeeper")]
use elect_zookeeper::{Anchors, Calls};

use super::queue::{Ask, Bid, Reply};
use crate::election::Answer;

/// What a candidate knows of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Out,
    Unknown,
    Waiting,
    Leading,
    Gone,
}

/// How a store proves a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Each renewal counts from when it was sent, as in etcd.
    Renewal,
    /// Of a session, as in `ZooKeeper`: a later write confirms it.
    #[cfg(feature = "zookeeper")]
    Session,
}

/// From when on a lease is known to run.
#[derive(Clone, Debug)]
enum Anchor {
    Renewal,
    #[cfg(feature = "zookeeper")]
    Session(Option<(Anchors, Calls)>),
}

/// A seat.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    candidate: Candidate,
    ttl: Duration,
    /// The nonce of the entry that we have, or of the next.
    nonce: u64,
    stage: Stage,
    anchor: Anchor,
}

impl Seat {
    /// Whose entries have this nonce and those that follow.
    pub(super) fn new(id: &str, priority: u32, ttl: Duration, nonce: u64, proof: Proof) -> Self {
        let candidate = Candidate {
            id: id.to_owned(),
            host: "simulated".to_owned(),
            pid: 1,
            command: String::new(),
            containment: String::new(),
            priority,
            division: Division::Whole,
        };
        let anchor = match proof {
            Proof::Renewal => Anchor::Renewal,
            #[cfg(feature = "zookeeper")]
            Proof::Session => Anchor::Session(None),
        };
        Self { candidate, ttl, nonce, stage: Stage::Out, anchor }
    }

    pub(super) const fn nonce(&self) -> u64 {
        self.nonce
    }

    /// The request that a refresh sends at `now`; `None` if the answer is known without one.
    pub(super) fn refresh(&mut self, now: Boottime) -> Option<Ask> {
        let ask = match self.stage {
            Stage::Gone => return None,
            Stage::Out | Stage::Unknown => {
                self.stage = Stage::Unknown;
                let (nonce, candidate) = (self.nonce, self.candidate.clone());
                Ask::Enter(Box::new(Bid { nonce, candidate, ttl: self.ttl }))
            }
            Stage::Waiting | Stage::Leading => Ask::Renew(self.nonce),
        };
        self.begin(now);
        Some(ask)
    }

    #[cfg(feature = "zookeeper")]
    fn begin(&mut self, now: Boottime) {
        if let Anchor::Session(session) = &mut self.anchor {
            let (anchors, calls) =
                session.get_or_insert_with(|| (Anchors::new(self.ttl, now), Calls::default()));
            calls.begin(now, anchors);
        }
    }

    #[cfg(not(feature = "zookeeper"))]
    const fn begin(&mut self, _now: Boottime) {}

    /// From when on the lease runs, once the refresh that was sent at `sent` is answered; one that leads has written.
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

    /// The answer to a refresh that was sent at `sent`.
    ///
    /// # Errors
    /// The entry ended before it was known to be there.
    pub(super) fn answered(&mut self, sent: Boottime, reply: &Reply) -> Result<Answer, Error> {
        match reply {
            Reply::Placed(place) => {
                let leads = place.ahead == 0;
                let anchor = self.proven(sent, leads);
                if !leads {
                    self.stage = Stage::Waiting;
                    return Ok(Answer::Waiting { ahead: place.ahead, alive: true });
                }
                self.stage = Stage::Leading;
                let validity = Validity::Window { anchor, window: place.ttl };
                Ok(Answer::Leading { token: Token::new(place.token), validity })
            }
            _ if matches!(self.stage, Stage::Leading) => {
                self.stage = Stage::Gone;
                Ok(Self::gone())
            }
            _ => {
                self.start_over();
                Err(Error::new(ErrorKind::Unreachable, "it ended before"))
            }
        }
    }

    pub(super) fn gone() -> Answer {
        Answer::Gone("it is gone".into())
    }

    /// What a resign sends; `None` if there is nothing to give up.
    pub(super) fn resign(&mut self) -> Option<Ask> {
        match self.stage {
            Stage::Out => None,
            Stage::Gone => {
                self.start_over();
                None
            }
            _ => Some(Ask::Leave(self.nonce)),
        }
    }

    /// The entry is given up: the next one is another.
    pub(super) fn start_over(&mut self) {
        self.nonce += 1;
        self.stage = Stage::Out;
        #[cfg(feature = "zookeeper")]
        if let Anchor::Session(session) = &mut self.anchor {
            *session = None;
        }
    }
}
