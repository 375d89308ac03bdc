//! All who take part in an election agree on what it is divided into.
//!
//! It is kept in the orders of the election, and settled like this by whoever finds another division there than its
//! own:
//!
//! 1. It looks for candidates that go by another division than its own: in the election first, then in each part of
//!    the division that is kept. If there is one, it is refused.
//! 2. It writes its own division, in place of exactly the orders that it has read, and with it that this is not
//!    proven yet, and how many parts there may be candidates in.
//! 3. It looks again. If there is one now, it puts back what was there, and is refused.
//! 4. It writes that it is proven.
//!
//! Only a division that is proven is one; whoever finds one that is not, his own too, settles it himself. And
//! whoever has entered looks at the orders that come with its refresh, and settles again if they are others,
//! before it starts anything.
//!
//! So of two who disagree at most one starts anything. Say that both have started. Each had entered, and a refresh
//! after that had shown it its own division, proven. Let the one that A was shown be the later one. It was written
//! after B had read the orders for the last time before it started, for else B would have been shown that one, or one
//! that is later still. So it was written when B was in; and whoever proved it looked after it was written, in the
//! election, and in all parts that B can be in. Who moves from the one into the other enters the part before it leaves
//! the election, and is looked for in the opposite order: so B was seen, unless it had gone, and A's was not proven.
//!
//! A crash in the middle leaves a division that is not proven, and no harm. Of two who come at once both may be refused.

use elect_api::{
    Candidate, Cell, Division, ElectionName, ElectionNameError, Error, ErrorKind, If, Store,
    Survey, Written,
};

use futures_util::future::join_all;

use super::orders::Orders;

/// How often others may write between our reading and our writing before that is told.
const RACES: u32 = 20;
/// How many parts are looked at at once.
const AT_ONCE: usize = 64;

/// What came of the wish to divide an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// It is divided as we wish.
    Ours,
    /// Somebody takes part who goes by another division, as is said here.
    Disputed(String),
}

/// Sees to it that `candidate` may take part with the division that it has.
///
/// # Errors
/// As those of the store's orders and surveys; `Unfit` for a store that keeps no orders.
///
/// # Cancellation
/// The outcome is unknown; the call may be repeated, and finds out.
pub async fn settle(
    store: &dyn Store,
    election: &ElectionName,
    candidate: &Candidate,
) -> Result<Agreement, Error> {
    let ours = candidate.division;
    if let Some(why) = belongs(store, election).await? {
        return Ok(Agreement::Disputed(why));
    }
    for _ in 0..RACES {
        let kept = store.read(election, Cell::Control).await?;
        let orders = Orders::read(kept.bytes.as_deref())?;
        if orders.is_divided(ours) {
            return Ok(Agreement::Ours);
        }
        let parts = orders.parts_in_use();
        if let Some(why) = dissent(store, election, parts, candidate).await? {
            return Ok(Agreement::Disputed(why));
        }
        let claim = orders.clone().claimed(ours).to_bytes();
        let write = async |orders: &[u8], version| {
            store.write(election, Cell::Control, orders, If::Version(version)).await
        };
        let Written::Yes(version) = write(&claim, kept.version).await? else { continue };
        if let Some(why) = dissent(store, election, parts, candidate).await? {
            // If it stays, it is not proven.
            let _ = write(&orders.to_bytes(), version).await;
            return Ok(Agreement::Disputed(why));
        }
        let proven = orders.divided(ours).to_bytes();
        if let Written::Yes(_) = write(&proven, version).await? {
            return Ok(Agreement::Ours);
        }
    }
    let what = format!("others write the orders of {election} all the time");
    Err(Error::new(ErrorKind::Unreachable, what))
}

/// What an election is a part of, in words, if its name is that of a part: then nobody takes part in it by that name.
async fn belongs(store: &dyn Store, election: &ElectionName) -> Result<Option<String>, Error> {
    let Some(whole) = Division::whole(election) else { return Ok(None) };
    let orders = Orders::read(store.read(&whole, Cell::Control).await?.bytes.as_deref())?;
    let division = orders.division();
    Ok((!division.is_whole()).then(|| {
        format!(
            "{election} is a part of {whole}, which has {division}: take part in that, or take another name"
        )
    }))
}

/// Who takes part and goes by another division, in words, if somebody does.
async fn dissent(
    store: &dyn Store,
    election: &ElectionName,
    parts: u16,
    candidate: &Candidate,
) -> Result<Option<String>, Error> {
    let mut found = other_than(candidate, &store.survey(election).await?);
    let numbers: Vec<u16> = (0..parts).collect();
    for some in numbers.chunks(AT_ONCE) {
        if found.is_some() {
            break;
        }
        let names = some.iter().map(|&number| Division::part(election, number));
        // A name that is too long for a part was too long for whoever divided it.
        let names: Result<Vec<_>, ElectionNameError> = names.collect();
        let Ok(names) = names else { break };
        let surveys = names.iter().map(|name| store.survey(name));
        for survey in join_all(surveys).await {
            found = found.or(other_than(candidate, &survey?));
        }
    }
    Ok(found.map(|(id, theirs)| {
        let ours = candidate.division;
        format!(
            "{id} takes part in {election} with {theirs}, and we are told {ours}: say the same to all who take \
             part, or wait until none of the others is left"
        )
    }))
}

fn other_than(candidate: &Candidate, survey: &Survey) -> Option<(String, Division)> {
    let others = survey.entries().map(|entry| &entry.candidate);
    let mut others = others.filter(|other| other.id != candidate.id);
    let other = others.find(|other| other.division != candidate.division)?;
    Some((other.id.clone(), other.division))
}

#[cfg(test)]
mod tests;
