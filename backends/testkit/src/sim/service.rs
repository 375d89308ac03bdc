use std::collections::{BTreeMap, HashMap};

use elect_api::{Boottime, ElectionName};
use serde::{Deserialize, Serialize};

use super::message::{Ask, Envelope, Record, Reply, Request, Slip, Tenure};
use super::rules::Rules;
use super::{Effect, Options, Rule, RuleId, World};

/// One call of a client, from its arrival to its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CallId(u64);

/// What a test may tell the store, past all rules.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Command {
    Add(Rule),
    Lift(Option<RuleId>),
    Hits(RuleId),
    Remove(ElectionName, String),
    Bury(ElectionName, u64),
    Wipe(ElectionName),
    History,
}

/// What the store answers to that.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Outcome {
    Rule(RuleId),
    Count(u32),
    History(Vec<Tenure<Boottime>>),
}

/// The store with its faults, by the machine's time, which is an argument. It does no I/O: whoever
/// has it brings requests, calls [`Service::run`] in time and takes replies away.
///
/// Looking late changes nothing: what was due is done as of the instant it was due at.
#[derive(Debug)]
pub(super) struct Service {
    options: Options,
    world: World,
    rules: Rules,
    jobs: BTreeMap<(Boottime, u64), Job>,
    held: Vec<(RuleId, Option<CallId>, Request)>,
    watches: Vec<(CallId, Request)>,
    replies: HashMap<CallId, Reply>,
    /// Replies have come that nobody was told of.
    news: bool,
    next: u64,
}

#[derive(Debug)]
enum Job {
    /// `None` is to be answered to nobody.
    Apply(Option<CallId>, Request),
    Deliver(CallId, Reply),
}

impl Service {
    pub(super) fn new(options: Options) -> Self {
        Self {
            world: World::new(options.clone()),
            rules: Rules::new(options.seed),
            options,
            jobs: BTreeMap::new(),
            held: Vec::new(),
            watches: Vec::new(),
            replies: HashMap::new(),
            news: false,
            next: 0,
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A request has arrived.
    pub(super) fn receive(&mut self, now: Boottime, envelope: Envelope) -> CallId {
        self.run(now);
        let call = CallId(self.number());
        let Some((rule, effect)) = self.rules.judge(&envelope) else {
            self.apply(now, Some(call), envelope.request);
            return call;
        };
        let request = envelope.request;
        match effect {
            Effect::LoseRequest => {}
            Effect::LoseReply => self.apply(now, None, request),
            Effect::DelayRequest(span) => {
                self.schedule(now + span, Job::Apply(Some(call), request));
            }
            Effect::DelayReply(span) => {
                self.apply(now, Some(call), request);
                if let Some(reply) = self.replies.remove(&call) {
                    self.schedule(now + span, Job::Deliver(call, reply));
                }
            }
            Effect::Duplicate(span) => {
                self.schedule(now + span, Job::Apply(None, request.clone()));
                self.apply(now, Some(call), request);
            }
            Effect::Hold => self.held.push((rule, Some(call), request)),
            Effect::Refuse => self.answer(call, Reply::Refused),
            Effect::Break => {
                self.apply(now, None, request);
                self.answer(call, Reply::Broken);
            }
            Effect::AnswerGone => self.answer(call, gone(&request)),
        }
        call
    }

    fn answer(&mut self, call: CallId, reply: Reply) {
        self.replies.insert(call, reply);
        self.news = true;
    }

    fn schedule(&mut self, at: Boottime, job: Job) {
        let number = self.number();
        self.jobs.insert((at, number), job);
    }

    fn apply(&mut self, now: Boottime, call: Option<CallId>, request: Request) {
        let reply = self.world.apply(self.options.rate.store(now), &request);
        match (call, reply) {
            (Some(call), Some(reply)) => self.answer(call, reply),
            (Some(call), None) => self.watches.push((call, request)),
            (None, _) => {}
        }
        self.look(now);
    }

    /// Answers those whose wait is over.
    fn look(&mut self, now: Boottime) {
        let now = self.options.rate.store(now);
        self.world.settle(now);
        for (call, request) in std::mem::take(&mut self.watches) {
            match self.world.apply(now, &request) {
                Some(reply) => self.answer(call, reply),
                None => self.watches.push((call, request)),
            }
        }
    }

    /// Does all that is due at `now`.
    pub(super) fn run(&mut self, now: Boottime) {
        while let Some(next) = self.jobs.first_entry().filter(|next| next.key().0 <= now) {
            let ((at, _), job) = next.remove_entry();
            match job {
                Job::Apply(call, request) => self.apply(at, call, request),
                Job::Deliver(call, reply) => self.answer(call, reply),
            }
        }
        self.look(now);
    }

    /// Whether replies have come since this was last asked.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    /// When [`Service::run`] is wanted, if nothing arrives before.
    pub(super) fn next_due(&self) -> Option<Boottime> {
        let job = self.jobs.keys().next().map(|(at, _)| *at);
        let end = self.world.next_end().map(|end| self.options.rate.machine(end));
        // Only those who watch want to hear of an end at once.
        [job, end.filter(|_| !self.watches.is_empty())].into_iter().flatten().min()
    }

    /// The reply to a call, once.
    pub(super) fn take(&mut self, call: CallId) -> Option<Reply> {
        self.replies.remove(&call)
    }

    /// All replies that are there.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = (CallId, Reply)> {
        std::mem::take(&mut self.replies).into_iter()
    }

    /// Nobody waits for this reply any more. What was sent is on its way all the same.
    pub(super) fn abandon(&mut self, call: CallId) {
        self.replies.remove(&call);
        self.watches.retain(|(watch, _)| *watch != call);
        self.jobs.retain(|_, job| !matches!(job, Job::Deliver(to, _) if *to == call));
        let jobs = self.jobs.values_mut().filter_map(|job| match job {
            Job::Apply(to, _) => Some(to),
            Job::Deliver(..) => None,
        });
        for to in jobs.chain(self.held.iter_mut().map(|(_, to, _)| to)) {
            *to = to.filter(|to| *to != call);
        }
    }

    /// Does what a test wants.
    pub(super) fn command(&mut self, now: Boottime, command: Command) -> Outcome {
        self.run(now);
        let store = self.options.rate.store(now);
        let outcome = match command {
            Command::Add(rule) => Outcome::Rule(self.rules.add(rule)),
            Command::Lift(which) => {
                self.rules.lift(which);
                self.release(now, which);
                Outcome::Count(0)
            }
            Command::Hits(rule) => Outcome::Count(self.rules.hits(rule)),
            Command::Remove(election, candidate) => {
                let gone = self.world.remove(store, &election, &candidate);
                Outcome::Count(u32::try_from(gone).unwrap_or(u32::MAX))
            }
            Command::Bury(election, nonce) => {
                self.world.bury(store, &election, nonce);
                Outcome::Count(0)
            }
            Command::Wipe(election) => {
                self.world.wipe(store, &election);
                Outcome::Count(0)
            }
            Command::History => {
                let rate = self.options.rate;
                let tenures = self.world.history().iter().cloned();
                Outcome::History(tenures.map(|tenure| tenure.map(|at| rate.machine(at))).collect())
            }
        };
        self.look(now);
        outcome
    }

    fn release(&mut self, now: Boottime, which: Option<RuleId>) {
        for (rule, call, request) in std::mem::take(&mut self.held) {
            if which.is_none_or(|which| which == rule) {
                self.apply(now, call, request);
            } else {
                self.held.push((rule, call, request));
            }
        }
    }
}

fn gone(request: &Request) -> Reply {
    match request {
        // No write ever expects this version.
        Request::In(_, Ask::Read | Ask::Swap { .. }) => {
            Reply::Stands(Record { version: u64::MAX, holder: None })
        }
        Request::In(
            _,
            Ask::AwaitEnd(_) | Ask::AwaitChange(_) | Ask::AwaitNote(_) | Ask::AwaitSight(_),
        ) => Reply::Changed,
        Request::In(_, Ask::ReadNote) => Reply::Note(Slip::default()),
        _ => Reply::Ended { others: 1 },
    }
}
