//! This file models documents that are changed by compare-and-swap, as all stores but etcd and ZooKeeper keep them. The
//! store knows no time.
//!
//! The model is a pure function of requests. A watch is answered once the document has changed.

use std::time::Duration;

use elect_record::{Ask, Folder, Reply};
use elect_simulation::NodeId;
use elect_simulation::replicas::State;

use super::seat::{Asked, Told};

/// The documents of one election, and the watches on them.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    folder: Folder,
    /// The watches: the client, the number of its request, and the request.
    waits: Vec<(NodeId, u32, Ask)>,
}

impl Shelf {
    /// Returns the answers to watches that are over.
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
            // A client has one watch at a time, so a new watch replaces the earlier one.
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

    fn advance(&mut self, _now: Duration) -> Vec<(NodeId, Told<Reply>)> {
        Vec::new()
    }

    /// Ends all watches without an answer.
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
