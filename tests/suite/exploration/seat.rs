//! A seat in a simulated queue, as a state and no future: what is sent, and what comes of the answer.

use std::time::{Duration, SystemTime};

use elect::election::Answer;
use elect_api::{Boottime, Candidate, Error, ErrorKind, Token, Validity};
use elect_testkit::sim::{Ask, Bid, Reply};

/// The id of the candidate of this number.
pub(super) fn name(id: usize) -> String {
    format!("c{id}-")
}

/// What a candidate knows of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Out,
    Unknown,
    Waiting,
    Leading,
    Gone,
}

#[derive(Clone, Debug)]
pub(super) struct Seat {
    id: usize,
    priority: u32,
    /// How many entries it has made.
    count: u64,
    stage: Stage,
}

impl Seat {
    pub(super) const fn new(id: usize, priority: u32) -> Self {
        Self { id, priority, count: 0, stage: Stage::Out }
    }

    /// That of the entry that we have, or of the next.
    pub(super) const fn nonce(&self) -> u64 {
        self.id as u64 * 1000 + self.count
    }

    /// The request that a refresh sends; `None` if the answer is known without one.
    pub(super) fn refresh(&mut self, ttl: Duration) -> Option<Ask> {
        match self.stage {
            Stage::Gone => None,
            Stage::Out | Stage::Unknown => {
                self.stage = Stage::Unknown;
                Some(Ask::Enter(self.bid(ttl)))
            }
            Stage::Waiting | Stage::Leading => Some(Ask::Renew(self.nonce())),
        }
    }

    fn bid(&self, ttl: Duration) -> Bid {
        let candidate = Candidate {
            id: name(self.id),
            host: "sim".into(),
            pid: 1,
            command: String::new(),
            containment: String::new(),
            priority: self.priority,
            division: elect_api::Division::Whole,
        };
        Bid { nonce: self.nonce(), candidate, joined: SystemTime::UNIX_EPOCH, ttl, arrived: None }
    }

    /// The answer to a refresh that was sent at `sent`.
    pub(super) fn answered(&mut self, sent: Boottime, reply: &Reply) -> Result<Answer, Error> {
        match reply {
            Reply::Placed(place) if place.before.is_some() => {
                self.stage = Stage::Waiting;
                Ok(Answer::Waiting { ahead: place.ahead, alive: true })
            }
            Reply::Placed(place) => {
                self.stage = Stage::Leading;
                let validity = Validity::Window { anchor: sent, window: place.ttl };
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
            _ => Some(Ask::Leave(self.nonce())),
        }
    }

    pub(super) fn start_over(&mut self) {
        self.count += 1;
        self.stage = Stage::Out;
    }
}
