use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use elect_api::{Boottime, ElectionName};
use elect_record::{Removed, Swapped};
use serde::{Deserialize, Serialize};

use super::message::{Ask, Envelope, Leadership, Name, Reply, Request, Slip, Tally, When};
use super::rules::Rules;
use super::{Effect, Options, Rule, RuleId, World};

/// The id of one call of a client, from its arrival to its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CallId(u64);

/// A command of a test to the store. No rule affects it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Command {
    Add(Rule),
    Lift(Option<RuleId>),
    Hits(RuleId),
    Remove(ElectionName, String),
    Bury(ElectionName, u64),
    Wipe(ElectionName),
    ChangeLeader(Option<Duration>),
    LoseMember(String),
    Tally,
    History,
}

/// The store's answer to a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Outcome {
    Rule(RuleId),
    Count(u32),
    Tally(Tally),
    History(Vec<Leadership<Boottime>>),
}

/// The store with its faults, by the machine's time, which is an argument. It does no I/O. Its owner brings requests,
/// calls [`Service::run`] in time and takes replies away.
///
/// A late call of it changes nothing. Each event happens as of the time at which it was due.
#[derive(Debug)]
pub(super) struct Service {
    options: Options,
    world: World,
    rules: Rules,
    jobs: BTreeMap<(Boottime, u64), Job>,
    held: Vec<(RuleId, Letter)>,
    /// The members that stand still.
    stood: BTreeMap<RuleId, Stood>,
    watches: Vec<Letter>,
    replies: HashMap<CallId, Reply>,
    tally: Tally,
    /// The number of each client's newest letter that was carried out.
    newest: HashMap<String, u64>,
    /// The time of the last call of `run`.
    looked: Boottime,
    /// True if there are replies that the callers have not been told of.
    has_news: bool,
    next: u64,
}

/// A request on its way.
#[derive(Clone, Debug)]
struct Letter {
    /// A number that rises in the order of sending.
    number: u64,
    client: String,
    /// The call to answer, or `None` if no caller waits.
    call: Option<CallId>,
    request: Request,
    /// The term in which the answering member led, if it has stood still since.
    led: Option<u64>,
}

/// A member that led the store, and stands still.
#[derive(Debug)]
struct Stood {
    /// The term in which it led.
    term: u64,
    /// Its state and the time of that state, if it answers from that when it goes on.
    past: Option<(World, Duration)>,
}

#[derive(Debug)]
enum Job {
    Apply(Letter),
    Deliver(CallId, String, Reply),
}

impl Service {
    pub(super) fn new(options: Options) -> Self {
        Self {
            world: World::new(options.clone()),
            rules: Rules::new(options.seed),
            options,
            jobs: BTreeMap::new(),
            held: Vec::new(),
            stood: BTreeMap::new(),
            watches: Vec::new(),
            replies: HashMap::new(),
            tally: Tally::default(),
            newest: HashMap::new(),
            looked: Boottime::from_boot(Duration::ZERO),
            has_news: false,
            next: 0,
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Takes in a request that arrives.
    pub(super) fn receive(&mut self, now: Boottime, envelope: Envelope) -> CallId {
        self.run(now);
        let number = self.number();
        let call = CallId(number);
        let judgement = self.rules.judge(&envelope);
        let Envelope { client, request, .. } = envelope;
        let letter = Letter { number, client, call: Some(call), request, led: None };
        let Some((rule, effect)) = judgement else {
            let transit = self.transit();
            self.send(now + transit, letter);
            return call;
        };
        match effect {
            Effect::LoseRequest | Effect::Deafen => {}
            Effect::LoseReply => self.send(now, Letter { call: None, ..letter }),
            Effect::DelayRequest(span) => self.send(now + span, letter),
            Effect::DelayReply(span) => {
                let client = letter.client.clone();
                self.apply(now, letter);
                if let Some(reply) = self.replies.remove(&call) {
                    self.schedule(now + span, Job::Deliver(call, client, reply));
                }
            }
            Effect::Duplicate(span) => {
                self.schedule(now + span, Job::Apply(Letter { call: None, ..letter.clone() }));
                self.apply(now, letter);
            }
            Effect::Hold | Effect::Stand => self.held.push((rule, letter)),
            Effect::Refuse => self.answer(call, &letter.client, Reply::Refused),
            Effect::Break => {
                let client = letter.client.clone();
                self.apply(now, Letter { call: None, ..letter });
                self.answer(call, &client, Reply::Broken);
            }
            Effect::AnswerGone => {
                let reply = self.gone(&letter.request);
                self.answer(call, &letter.client, reply);
            }
        }
        call
    }

    fn transit(&mut self) -> Duration {
        match self.options.latency {
            Duration::ZERO => Duration::ZERO,
            longest => self.rules.transit(longest),
        }
    }

    /// Has the request arrive at `at`, and at once if that is now.
    fn send(&mut self, at: Boottime, letter: Letter) {
        if at <= self.looked {
            self.apply(at, letter);
        } else {
            self.schedule(at, Job::Apply(letter));
        }
    }

    fn answer(&mut self, call: CallId, client: &str, reply: Reply) {
        if !self.rules.deafen(client) {
            self.has_news = true;
            self.replies.insert(call, reply);
        }
    }

    fn schedule(&mut self, at: Boottime, job: Job) {
        let number = self.number();
        self.jobs.insert((at, number), job);
    }

    fn apply(&mut self, now: Boottime, letter: Letter) {
        self.count(now, &letter);
        let at = self.options.rate.store(now);
        let reply = self.world.apply_by(letter.led, at, &letter.request);
        match (letter.call, reply) {
            (Some(call), Some(reply)) => {
                let transit = self.transit();
                self.reply(now, transit, call, letter.client, reply);
            }
            (Some(_), None) => self.watches.push(letter),
            (None, _) => {}
        }
        self.look(now);
    }

    /// Has a reply arrive after `late`.
    fn reply(&mut self, now: Boottime, late: Duration, call: CallId, client: String, reply: Reply) {
        if late.is_zero() {
            return self.answer(call, &client, reply);
        }
        // The caller has to look when the reply will arrive.
        self.has_news = true;
        self.schedule(now + late, Job::Deliver(call, client, reply));
    }

    fn count(&mut self, now: Boottime, letter: &Letter) {
        self.tally.requests += 1;
        if let Some(newest) = self.newest.get_mut(&letter.client) {
            self.tally.reordered += u32::from(letter.number < *newest);
            *newest = letter.number.max(*newest);
        } else {
            self.newest.insert(letter.client.clone(), letter.number);
        }
        if self.world.would_double(self.options.rate.store(now), &letter.request) {
            self.tally.doubles += 1;
        }
    }

    /// Answers the waiting requests whose event has happened.
    fn look(&mut self, now: Boottime) {
        self.looked = now;
        let at = self.options.rate.store(now);
        self.world.end_leases(at);
        let mut woken: HashMap<u64, u32> = HashMap::new();
        for letter in std::mem::take(&mut self.watches) {
            let reply = self.world.apply(at, &letter.request);
            match (letter.call, reply) {
                (Some(call), Some(reply)) => {
                    if let Request::In(election, Ask::AwaitEnd { nonce, .. }) = &letter.request
                        && self.world.queues(election, &letter.client)
                        && !self.world.has(election, *nonce)
                    {
                        *woken.entry(*nonce).or_default() += 1;
                    }
                    let transit = self.transit();
                    self.reply(now, transit, call, letter.client, reply);
                }
                (Some(_), None) => self.watches.push(letter),
                (None, _) => {}
            }
        }
        let most = woken.into_values().max().unwrap_or_default();
        self.tally.woken_at_once = self.tally.woken_at_once.max(most);
    }

    /// Does all that is due at `now`.
    pub(super) fn run(&mut self, now: Boottime) {
        while let Some(next) = self.jobs.first_entry().filter(|next| next.key().0 <= now) {
            let ((at, _), job) = next.remove_entry();
            match job {
                Job::Apply(letter) => self.apply(at, letter),
                Job::Deliver(call, client, reply) => self.answer(call, &client, reply),
            }
        }
        self.look(now);
    }

    /// Returns whether there are new replies since the last call.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// Returns when [`Service::run`] has to be called if nothing arrives before.
    pub(super) fn next_due(&self) -> Option<Boottime> {
        let job = self.jobs.keys().next().map(|(at, _)| *at);
        let end = self.world.next_end().map(|end| self.options.rate.machine(end));
        // An end by time has to be seen at once only if a client waits for it.
        [job, end.filter(|_| !self.watches.is_empty())].into_iter().flatten().min()
    }

    /// Takes the reply to a call, if it is there.
    pub(super) fn take(&mut self, call: CallId) -> Option<Reply> {
        self.replies.remove(&call)
    }

    /// Takes all replies that are there.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = (CallId, Reply)> {
        std::mem::take(&mut self.replies).into_iter()
    }

    /// Abandons a call. Its request stays under way all the same.
    pub(super) fn abandon(&mut self, call: CallId) {
        self.replies.remove(&call);
        self.watches.retain(|watch| watch.call != Some(call));
        self.jobs.retain(|_, job| !matches!(job, Job::Deliver(to, ..) if *to == call));
        let jobs = self.jobs.values_mut().filter_map(|job| match job {
            Job::Apply(letter) => Some(letter),
            Job::Deliver(..) => None,
        });
        for letter in jobs.chain(self.held.iter_mut().map(|(_, letter)| letter)) {
            letter.call = letter.call.filter(|to| *to != call);
        }
    }

    /// Carries out a test's command.
    pub(super) fn command(&mut self, now: Boottime, command: Command) -> Outcome {
        self.run(now);
        let store = self.options.rate.store(now);
        let outcome = match command {
            Command::Add(rule) => {
                let stands = rule.stands();
                let id = self.rules.add(rule);
                if stands {
                    let past = self.options.reads_stale.then(|| (self.world.clone(), store));
                    self.stood.insert(id, Stood { term: self.world.term(), past });
                }
                Outcome::Rule(id)
            }
            Command::Lift(which) => {
                self.rules.lift(which);
                self.release(now, which);
                self.stood.retain(|id, _| which.is_some_and(|which| which != *id));
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
            Command::ChangeLeader(prolonged_by) => {
                self.watches.clear();
                self.world.begin_term();
                if let Some(span) = prolonged_by {
                    self.world.prolong(self.options.rate.store(now + span));
                }
                Outcome::Count(0)
            }
            Command::LoseMember(candidate) => {
                self.world.lose_member(store, &candidate);
                Outcome::Count(0)
            }
            Command::Tally => Outcome::Tally(self.tally),
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
        for (rule, letter) in std::mem::take(&mut self.held) {
            if which.is_none_or(|which| which == rule) {
                let led = self.stood.get(&rule).map(|stood| stood.term);
                match self.answer_of_the_past(rule, &letter) {
                    Some(reply) => self.tell_late(now, letter, reply),
                    None => self.apply(now, Letter { led, ..letter }),
                }
            } else {
                self.held.push((rule, letter));
            }
        }
    }

    /// Returns the answer of a member that stood still while another was elected, to a read.
    fn answer_of_the_past(&mut self, rule: RuleId, letter: &Letter) -> Option<Reply> {
        let present = self.world.term();
        let Stood { term, past } = self.stood.get_mut(&rule)?;
        let is_read = matches!(letter.request, Request::In(_, Ask::Renew(_)));
        let (world, at) = past.as_mut().filter(|_| is_read && *term != present)?;
        world.apply(*at, &letter.request)
    }

    fn tell_late(&mut self, now: Boottime, letter: Letter, reply: Reply) {
        self.count(now, &letter);
        if let Some(call) = letter.call {
            let transit = self.transit();
            self.reply(now, transit, call, letter.client, reply);
        }
    }

    fn gone(&self, request: &Request) -> Reply {
        let Request::In(election, ask) = request else {
            return Reply::Ended { others: 1, control: Slip::default() };
        };
        let control = self.world.control(election);
        match ask {
            Ask::Documents(ask) => Reply::Documents(gone(ask)),
            Ask::AwaitEnd { .. } | Ask::AwaitCell(..) | Ask::AwaitChange(_) => Reply::Changed,
            Ask::ReadCell(Name::Control) => Reply::Cell(control),
            Ask::ReadCell(_) => Reply::Cell(Slip::default()),
            Ask::WriteCell { when: When::Version(_), .. } => Reply::Overtaken,
            _ => Reply::Ended { others: 1, control },
        }
    }
}

/// The answer where all documents are gone.
fn gone(ask: &elect_record::Ask) -> elect_record::Reply {
    use elect_record::{Ask, Name, Reply};
    match ask {
        Ask::Read(_) | Ask::Await(..) => Reply::Found(None),
        Ask::List => Reply::Listed(Box::default()),
        Ask::Swap(..) => Reply::Swapped(Swapped::No),
        Ask::Remove(..) => Reply::Removed(Removed::Yes),
        Ask::AwaitAny(revision) => Reply::Changed(vec![(*revision, Name::Record, None)]),
    }
}
