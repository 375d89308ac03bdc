//! How each member is, asked over a connection of its own.

use std::sync::Arc;
use std::time::Duration;

use elect_api::{
    Clock, EndpointAnswer, Error, ErrorKind, Examination, Finding, Grants, StoreIdentity, Supply,
    Unit,
};
use elect_remote::{ANSWER_TIMEOUT, Measured, Round, Witness, measure, unnamed};
use etcd_client::{Client, LeaseGrantOptions, StatusResponse};
use tokio::time::timeout;

use crate::error::{Doing, Failure};
use crate::layout::LeaseId;
use crate::link::Link;
use crate::{advisories, lease};

/// For a connection, and the login over it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(6);
/// The share of its room that a database may take before it is worth a word: nine tenths.
const NEARLY: (u64, u64) = (9, 10);

/// A member that has answered.
struct Respondent {
    client: Client,
    status: StatusResponse,
    round_trip: Duration,
    store: StoreIdentity,
}

/// Asks all members at once, and then one of them about the cluster.
pub(crate) async fn examine(link: &Arc<Link>, clock: Clock) -> Examination {
    let round = Round::visit(link.hosts(), |member, _| {
        let (link, clock) = (Arc::clone(link), Arc::clone(&clock));
        async move { visit(&link, member, &clock).await }
    });
    let round = round.await;
    let respondents = round.respondents();
    let mut examination = Examination::default();
    if let Some((_, respondent)) = respondents.first() {
        let named = link.hosts().count();
        let voters = advisories::voters(&respondent.client).await;
        let versions: Vec<_> = respondents
            .iter()
            .map(|(address, it)| ((*address).to_owned(), it.status.version().to_owned()))
            .collect();
        examination.findings = advisories::known(&versions, voters.unwrap_or(named) == 1);
        let few = voters.and_then(|voters| unnamed(named, voters, "members of the cluster"));
        examination.findings.extend(few);
        examination.grants =
            Grants { least: least_grant(&respondent.client).await, greatest: None };
    }
    for (address, respondent) in &respondents {
        examination.supplies.push(database(address, &respondent.status));
        examination.findings.extend(complaints(address, &respondent.status));
    }
    examination.endpoints = round.endpoints(answer);
    examination
}

async fn visit(link: &Arc<Link>, member: usize, clock: &Clock) -> Result<Respondent, Error> {
    let witness = Witness::default();
    let silent = || {
        let what = format!("etcd at {} does not answer", link.address(member));
        Error::new(ErrorKind::Unreachable, what)
    };
    let explain =
        async |doing, cause| link.explain(member, "", &Failure { doing, cause }, &witness).await;
    let connected = timeout(CONNECT_TIMEOUT, link.connect(member, &witness));
    let client = match connected.await.map_err(|_| silent())? {
        Ok(client) => client,
        Err(cause) => return Err(explain(Doing::Connect, cause).await),
    };
    let status = || {
        let mut client = client.maintenance_client();
        async move { client.status().await }
    };
    let Measured { round_trip, last } = match measure(clock, status).await {
        Ok(measured) => measured,
        Err(None) => return Err(silent()),
        Err(Some(cause)) => return Err(explain(Doing::Read, cause).await),
    };
    let asked = timeout(ANSWER_TIMEOUT, link.store_check().ask(&client)).await;
    let store = match asked {
        Ok(Ok(id)) => StoreIdentity::of(id),
        _ => StoreIdentity::Untold,
    };
    Ok(Respondent { client, status: last, round_trip, store })
}

fn answer(respondent: &Respondent) -> EndpointAnswer {
    let status = &respondent.status;
    let is_leader = status.header().is_some_and(|header| header.member_id() == status.leader());
    let role = match (status.is_learner(), is_leader) {
        (true, _) => "learner",
        (false, true) => "leader",
        (false, false) => "follower",
    };
    EndpointAnswer {
        round_trip: respondent.round_trip,
        version: Some(status.version().to_owned()),
        role: Some(role.to_owned()),
        store: respondent.store.clone(),
    }
}

/// Returns the length of the lease that etcd grants to a request for one second. elect keeps nothing on this lease, and
/// gives it back. If that fails, the lease ends by itself.
async fn least_grant(client: &Client) -> Option<Duration> {
    let ask = async {
        let id = LeaseId::fresh().get();
        let options = LeaseGrantOptions::new().with_id(id);
        let granted = client.lease_client().grant(1, Some(options)).await.ok()?.ttl();
        let _ = client.lease_client().revoke(id).await;
        lease::granted(granted)
    };
    timeout(ANSWER_TIMEOUT, ask).await.ok().flatten()
}

fn database(address: &str, status: &StatusResponse) -> Supply {
    // Servers before 3.6 do not tell.
    let quota = u64::try_from(status.db_size_quota()).ok().filter(|&quota| quota > 0);
    Supply {
        what: format!("database of {address}"),
        unit: Unit::Bytes,
        most: quota,
        used: u64::try_from(status.db_size()).ok(),
    }
}

/// What a member complains of.
fn complaints(address: &str, status: &StatusResponse) -> Vec<Finding> {
    let mut findings = Vec::new();
    let says = |word: &str| status.errors().iter().any(|error| error.contains(word));
    if status.leader() == 0 {
        findings.push(Finding::error(
            format!("etcd at {address} knows of no leader of the cluster: it grants and renews no lease"),
            "start the members that are down, or mend the network between them: more than half must see each other",
        ));
    }
    if says("NOSPACE") {
        findings.push(Finding::error(
            format!("the database of etcd is full, as {address} says: it grants no lease"),
            "compact and defragment it, then clear the alarm (`etcdctl alarm disarm`)",
        ));
    }
    if says("CORRUPT") {
        findings.push(Finding::error(
            format!("members of etcd differ in what they hold, as {address} says"),
            "see https://etcd.io/docs/v3.5/op-guide/data_corruption/",
        ));
    }
    if status.is_learner() {
        findings.push(Finding::warning(
            format!("etcd at {address} is a learner, which serves no elections"),
            "promote it (`etcdctl member promote`), or take it out of the URL",
        ));
    }
    let supply = database(address, status);
    if let (Some(most), Some(used)) = (supply.most, supply.used)
        && used / NEARLY.0 >= most / NEARLY.1
    {
        findings.push(Finding::warning(
            format!("the database of etcd at {address} is nearly full: {used} of {most} bytes"),
            "compact and defragment it, or raise --quota-backend-bytes of etcd",
        ));
    }
    findings
}
