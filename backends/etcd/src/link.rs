use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use elect_api::{Error, ErrorKind};
use elect_remote::{Credentials, Host, Protocol, Renewed, Seen, Tries, Trouble, Witness};
use etcd_client::{Client, ConnectOptions, TxnResponse};
use tokio::sync::OnceCell;

use crate::address::Address;
use crate::advisories;
use crate::channel::watched;
use crate::dial::{Access, Member};
use crate::error::{self, Circumstances, Doing, Failure, Instead, Setback, Then};
use crate::store_check::{StoreCheck, Unusable};

/// The way to the cluster: a connection to one member at a time.
///
/// The first request makes the connection. A request gives it up if it failed in a way in which another member might
/// serve, or if it was dropped before its answer; a casual attempt only if the one before was dropped, too. The next
/// request goes to the next member over a new connection. So neither a dead member nor a dead connection takes more
/// than one attempt, or two casual ones.
pub(crate) struct Link {
    members: Vec<Member>,
    accesses: Renewed<Access>,
    pub(crate) is_clear: bool,
    store_check: StoreCheck,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of connections given up so far.
    generation: u64,
    /// The place of the member in use.
    member: usize,
    connection: Option<Connection>,
    /// The attempt to connect, which all callers share.
    connecting: Option<Arc<Connecting>>,
    /// A member has answered, so the URL is right.
    served: bool,
    /// The members that cannot serve this process, while none has served it.
    unfit: BTreeSet<usize>,
    /// The members whose log has proven that they went back, since the last answer that was new enough.
    restored: BTreeSet<usize>,
    /// The last attempt was dropped before its answer.
    was_dropped: bool,
    /// The generation of the connection whose login had ended.
    logged_out: Option<u64>,
}

/// An open connection.
#[derive(Clone)]
struct Connection {
    client: Client,
    access: Arc<Access>,
    witness: Witness,
    trust: Arc<Trust>,
}

/// Whether a member's answers to reads are trusted. They are not before the member was asked for its version.
#[derive(Default)]
struct Trust {
    is_asked: AtomicBool,
    is_given: AtomicBool,
}

/// An attempt to connect to the member in use. If one caller drops it, the others go on with it.
#[derive(Default)]
struct Connecting {
    outcome: OnceCell<Result<(Client, Arc<Access>), Unusable>>,
    witness: Witness,
    trust: Arc<Trust>,
}

/// One attempt to have something done, over a connection that is there.
pub(crate) struct Attempt {
    turn: Turn,
    connection: Connection,
}

/// An attempt from its begin to its end. If its caller drops it before that, the caller has waited for the member
/// without success, and the link moves on to the next member.
struct Turn {
    link: Arc<Link>,
    generation: u64,
    member: usize,
    /// The prefix of all keys that the attempt needs.
    keys: String,
    strict: bool,
    over: bool,
}

impl Link {
    pub(crate) fn new(address: &Address) -> Result<Self, Error> {
        let hosts = address.hosts.iter().cloned();
        Ok(Self {
            members: hosts
                .map(|host| Member::new(host, address.tls.is_some()))
                .collect::<Result<_, _>>()?,
            accesses: Renewed::new(Access {
                credentials: address.credentials.clone(),
                tls: address.tls.clone(),
            }),
            is_clear: address.tls.is_none(),
            store_check: StoreCheck::new(&address.prefix, address.store.clone()),
            state: Mutex::default(),
        })
    }

    /// Begins an attempt at what needs keys that begin with `keys`.
    pub(crate) async fn attempt(self: &Arc<Self>, keys: &str) -> Result<Attempt, Error> {
        self.begin(keys, true).await
    }

    /// Begins an attempt whose drop says nothing about the member, unless it happens twice in a row.
    pub(crate) async fn casual_attempt(self: &Arc<Self>, keys: &str) -> Result<Attempt, Error> {
        self.begin(keys, false).await
    }

    async fn begin(self: &Arc<Self>, keys: &str, strict: bool) -> Result<Attempt, Error> {
        let (mut turn, connection, connecting) = {
            let mut state = self.lock();
            let turn = Turn {
                link: Arc::clone(self),
                generation: state.generation,
                member: state.member,
                keys: keys.to_owned(),
                strict,
                over: false,
            };
            (turn, state.connection.clone(), Arc::clone(state.connecting.get_or_insert_default()))
        };
        if let Some(connection) = connection {
            return Ok(Attempt { turn, connection });
        }
        let Connecting { outcome, witness, trust } = connecting.as_ref();
        let connect = || self.reach(turn.member, witness);
        // This future is large and seldom runs, so it must not enlarge those of callers.
        match Box::pin(outcome.get_or_init(connect)).await {
            Ok((client, access)) => {
                let connection = Connection {
                    client: client.clone(),
                    access: Arc::clone(access),
                    witness: witness.clone(),
                    trust: Arc::clone(trust),
                };
                self.keep(turn.generation, &connection);
                Ok(Attempt { turn, connection })
            }
            Err(unusable) => {
                self.forget(&connecting);
                Err(match unusable {
                    Unusable::Failed(failure) => turn.fail(failure, witness).await,
                    Unusable::Foreign(error) => turn.conclude(error.clone(), Then::MoveOn),
                    Unusable::Restored(error) => turn.conclude_restored(error.clone()),
                })
            }
        }
    }

    /// Makes the next attempt connect anew.
    fn forget(&self, failed: &Arc<Connecting>) {
        let mut state = self.lock();
        state.connecting.take_if(|connecting| Arc::ptr_eq(connecting, failed));
    }

    /// The id and the newest revision of the store.
    pub(crate) const fn store_check(&self) -> &StoreCheck {
        &self.store_check
    }

    /// The members that the URL names.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.members.iter().map(Member::host)
    }

    /// A member, in words.
    fn name(&self, member: usize) -> String {
        format!("etcd at {}", self.address(member))
    }

    /// Where a member is.
    pub(crate) fn address(&self, member: usize) -> String {
        self.members[member].host().to_string()
    }

    /// Connects to a member with what the files hold now. A member that does not take that gets what served last,
    /// because files and servers are renewed one after the other.
    async fn reach(
        &self,
        member: usize,
        witness: &Witness,
    ) -> Result<(Client, Arc<Access>), Unusable> {
        let Tries { first, second, unread } = self.accesses.tries(Access::again);
        let refusal = match self.greeted(member, &first, witness).await {
            Ok(client) => return Ok((client, first)),
            Err(refusal) => refusal,
        };
        let seen = witness.seen();
        match (second, unread) {
            _ if seen.trouble.as_ref().is_some_and(Trouble::is_unanswered) => Err(refusal),
            (Some(second), _) => {
                let client = self.greeted(member, &second, witness).await;
                client.map(|client| (client, second)).map_err(|_| {
                    witness.restore(seen);
                    refusal
                })
            }
            // The files were usable before, and may be again.
            (None, Some(unread)) => {
                Err(Unusable::Foreign(unread.with_kind(ErrorKind::Unreachable)))
            }
            (None, None) => Err(refusal),
        }
    }

    async fn greeted(
        &self,
        member: usize,
        access: &Access,
        witness: &Witness,
    ) -> Result<Client, Unusable> {
        let client = self.connect_as(member, access, witness).await;
        let client = client.map_err(|cause| Failure { doing: Doing::Connect, cause })?;
        self.store_check.greet(&self.name(member), &client).await?;
        Ok(client)
    }

    /// Connects to a member with what the files hold now, and logs in if there is a user.
    pub(crate) async fn connect(
        &self,
        member: usize,
        witness: &Witness,
    ) -> Result<Client, etcd_client::Error> {
        self.connect_as(member, &self.accesses.tries(Access::again).first, witness).await
    }

    async fn connect_as(
        &self,
        member: usize,
        access: &Access,
        witness: &Witness,
    ) -> Result<Client, etcd_client::Error> {
        let channel = watched(self.members[member].dial(access, witness).await?);
        // A member that is cut off from the others says so at once, and ends its watches.
        let options = ConnectOptions::new().with_require_leader(true);
        let Some(Credentials { user, password, .. }) = &access.credentials else {
            return Client::from_channel(channel, Some(options)).await;
        };
        let with_user = options.clone().with_user(user, password.reveal());
        match Client::from_channel(channel.clone(), Some(with_user)).await {
            // A cluster without logins also lets in a client that has a user, as it does with Go's client.
            Err(cause) if error::is_login_unknown(&cause) => {
                Client::from_channel(channel, Some(options)).await
            }
            outcome => outcome,
        }
    }

    /// Explains a failure at a member to a caller that needs keys which begin with `keys`.
    pub(crate) async fn explain(
        &self,
        member: usize,
        keys: &str,
        failure: &Failure,
        witness: &Witness,
    ) -> Error {
        self.judge(member, keys, failure, witness).await.0
    }

    async fn judge(
        &self,
        member: usize,
        keys: &str,
        failure: &Failure,
        witness: &Witness,
    ) -> (Error, Then) {
        let host = self.members[member].host();
        let seen = witness.seen();
        let access = self.accesses.known();
        let circumstances = Circumstances {
            member: host.to_string(),
            is_clear: self.is_clear,
            instead: self.spoken_instead(host, &seen).await,
            seen,
            keys,
            credentials: access.credentials.as_ref(),
        };
        error::judge(failure, &circumstances)
    }

    /// What a server speaks that closed the connection without a word.
    async fn spoken_instead(&self, host: &Host, seen: &Seen) -> Option<Instead> {
        let has_hung_up = matches!(seen.trouble, Some(Trouble::HungUp));
        if self.lock().served || !seen.first_bytes.is_empty() || !has_hung_up {
            return None;
        }
        let other = if self.is_clear { Protocol::Tls } else { Protocol::Http2 };
        match tokio::join!(other.is_spoken_by(host), Protocol::ZooKeeper.is_spoken_by(host)) {
            (true, _) => Some(Instead::OtherTransport),
            (false, true) => Some(Instead::ZooKeeper),
            (false, false) => None,
        }
    }

    /// Whether the login of this connection had ended. Its requests were not carried out, and the next attempt logs in
    /// anew.
    pub(crate) fn has_logged_out(&self, generation: u64) -> bool {
        self.lock().logged_out == Some(generation)
    }

    fn keep(&self, generation: u64, connection: &Connection) {
        let mut state = self.lock();
        if state.generation == generation && state.connection.is_none() {
            state.connection = Some(connection.clone());
        }
    }

    fn after(&self, generation: u64, then: Then) {
        let mut state = self.lock();
        if then == Then::Stay || state.generation != generation {
            return;
        }
        state.generation += 1;
        state.was_dropped = false;
        (state.connection, state.connecting) = (None, None);
        if then == Then::MoveOn {
            state.member = (state.member + 1) % self.members.len();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt {
    /// What to ask. Copies share the connection.
    pub(crate) fn client(&self) -> Client {
        self.connection.client.clone()
    }

    /// Returns the check of the store by its id, unless etcd refuses to show the id.
    pub(crate) fn store_check(&self) -> Option<&StoreCheck> {
        let store_check = &self.turn.link.store_check;
        store_check.identity().is_readable().then_some(store_check)
    }

    /// The newest revision that the store has shown before.
    pub(crate) fn newest(&self) -> i64 {
        self.turn.link.store_check.newest()
    }

    /// Notes the revision that this reply shows.
    pub(crate) fn saw(&self, reply: &TxnResponse) {
        self.turn.link.store_check.saw(reply);
    }

    /// Takes an answer that is no older than `newest`, which was shown before it was asked for.
    pub(crate) fn admit(&self, newest: i64, reply: TxnResponse) -> Result<TxnResponse, Setback> {
        let admitted = self.turn.link.store_check.admit_answer(&self.member(), newest, &reply);
        admitted.map(|()| reply).map_err(Setback::Foreign)
    }

    /// Checks that an answer without an entry of this candidate came from the right store.
    pub(crate) fn admit_missing(&self, reply: &TxnResponse) -> Result<(), Setback> {
        let admit = |store_check: &StoreCheck| store_check.admit_missing(&self.member(), reply);
        self.store_check().map_or(Ok(()), admit).map_err(Setback::Foreign)
    }

    /// Whom it goes to, in words.
    pub(crate) fn member(&self) -> String {
        self.turn.link.name(self.turn.member)
    }

    /// Which connection it goes over.
    pub(crate) const fn generation(&self) -> u64 {
        self.turn.generation
    }

    /// Whether a linearizable read of this member proves what it shows. Where that is not known yet it is asked for
    /// meanwhile, once for each connection.
    pub(crate) fn trusts_reads(&self) -> bool {
        let trust = &self.connection.trust;
        if !trust.is_asked.swap(true, Ordering::Relaxed) {
            let (client, trust) = (self.client(), Arc::clone(trust));
            tokio::spawn(async move {
                match advisories::reads_are_sound(&client).await {
                    Some(sound) => trust.is_given.store(sound, Ordering::Relaxed),
                    None => trust.is_asked.store(false, Ordering::Relaxed),
                }
            });
        }
        trust.is_given.load(Ordering::Relaxed)
    }

    /// Ends the attempt with its outcome. An odd answer keeps the connection.
    pub(crate) async fn conclude<T>(
        mut self,
        outcome: Result<T, impl Into<Setback>>,
    ) -> Result<T, Error> {
        let answered = match outcome.map_err(Into::into) {
            Err(Setback::Failed(failure)) => return Err(self.fail(&failure).await),
            Err(Setback::Foreign(error)) => return Err(self.turn.conclude(error, Then::MoveOn)),
            Err(Setback::Odd(error)) => Err(error),
            Ok(answer) => Ok(answer),
        };
        self.succeed();
        answered
    }

    /// Ends the attempt as answered.
    pub(crate) fn succeed(mut self) {
        {
            let mut state = self.turn.link.lock();
            state.served = true;
            state.restored.clear();
        }
        self.turn.link.accesses.keep(&self.connection.access);
        self.turn.end(Then::Stay);
    }

    /// Ends the attempt as failed. Returns the error.
    pub(crate) async fn fail(mut self, failure: &Failure) -> Error {
        self.turn.fail(failure, &self.connection.witness).await
    }
}

impl Turn {
    fn end(&mut self, then: Then) {
        self.over = true;
        self.link.lock().was_dropped = false;
        self.link.after(self.generation, then);
    }

    async fn fail(&mut self, failure: &Failure, witness: &Witness) -> Error {
        let link = Arc::clone(&self.link);
        let (error, then) = link.judge(self.member, &self.keys, failure, witness).await;
        if then == Then::Renew && error.kind() == ErrorKind::Unreachable {
            link.lock().logged_out = Some(self.generation);
        }
        self.conclude(error, then)
    }

    fn conclude(&mut self, error: Error, then: Then) -> Error {
        let is_of_member =
            then == Then::MoveOn && matches!(error.kind(), ErrorKind::Denied | ErrorKind::Unfit);
        let is_final = !is_of_member || self.is_the_last_hope();
        self.end(then);
        if is_final { error } else { error.with_kind(ErrorKind::Unreachable) }
    }

    /// This member's log has gone back. That is final once most members say so: one alone may be out of order, or
    /// belong to another cluster by now.
    fn conclude_restored(&mut self, error: Error) -> Error {
        let is_final = {
            let mut state = self.link.lock();
            state.restored.insert(self.member);
            state.restored.len() * 2 > self.link.members.len()
        };
        self.end(Then::MoveOn);
        if is_final { error } else { error.with_kind(ErrorKind::Unreachable) }
    }

    /// Counts this member as unfit. Returns whether all are, and none has ever served: then trying again does not help.
    /// A fault of some members, or a new one, may be mended, or another member may serve.
    fn is_the_last_hope(&self) -> bool {
        let mut state = self.link.lock();
        state.unfit.insert(self.member);
        !state.served && state.unfit.len() == self.link.members.len()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        // The drop of a casual attempt counts only if it happens twice in a row.
        let was_dropped = std::mem::replace(&mut self.link.lock().was_dropped, true);
        if self.strict || was_dropped {
            self.link.after(self.generation, Then::MoveOn);
        }
    }
}
