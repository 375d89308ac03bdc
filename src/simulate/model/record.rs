//! Documents that are changed by compare-and-swap, as Kubernetes keeps them: the store knows no time.
//!
//! A pure function of requests. A wait is answered once there is something else to see.

use std::time::Duration;

use elect_record::{Ask, Folder, Reply};
use elect_simulation::NodeId;
use elect_simulation::replicas::State;

use super::seat::{Asked, Told};

/// The documents of one election, and those who wait for a change.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    folder: Folder,
    /// Who waits, and what for.
    waits: Vec<(NodeId, u32, Ask)>,
}

impl Shelf {
    /// Answers to those whose wait is over.
    fn ended_waits(&mut self) -> Vec<(NodeId, Told<Reply>)> {
        let mut over = Vec::new();
        for (client, call, ask) in std::mem::take(&mut self.waits) {
            match self.folder.answer(&ask) {
                Some(reply) => over.push((client, Told::Answer(call, reply))),
                None => self.waits.push((client, call, ask)),
            }
        }
        over
    }
}

impl State for Shelf {
    type Ask = Asked<Ask>;
    type Reply = Told<Reply>;

    fn apply(
        &mut self,
        _now: Duration,
        client: NodeId,
        asked: &Asked<Ask>,
    ) -> Vec<(NodeId, Told<Reply>)> {
        let Some(call) = asked.call else { return Vec::new() };
        let Some(reply) = self.folder.answer(&asked.ask) else {
            // A client watches one thing at a time: of what it waited for before it does not want to hear.
            self.waits.retain(|(other, ..)| *other != client);
            self.waits.push((client, call, asked.ask.clone()));
            return Vec::new();
        };
        let mut replies = vec![(client, Told::Answer(call, reply))];
        replies.extend(self.ended_waits());
        replies
    }

    fn next_end(&self) -> Option<Duration> {
        None
    }

    fn settle(&mut self, _now: Duration) -> Vec<(NodeId, Told<Reply>)> {
        Vec::new()
    }

    /// What is watched breaks off.
    fn begin_term(&mut self, _now: Duration) {
        self.waits.clear();
    }

    fn ask_kind(asked: &Asked<Ask>) -> &'static str {
        match asked.ask {
            Ask::Read(_) => "read",
            Ask::Swap(..) => "write",
            Ask::Remove(..) => "removal",
            Ask::List => "list",
            Ask::Await(..) | Ask::AwaitAny(_) => "watch",
        }
    }

    fn reply_kind(_told: &Told<Reply>) -> &'static str {
        "answer"
    }
}
