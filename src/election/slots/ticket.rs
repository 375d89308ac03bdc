//! One ticket for all places of a candidate.

use elect_api::{Division, ElectionName, Error, ErrorKind, Removal, Store, Ticket};
use futures_util::future::join_all;

/// What such a ticket begins with; no store's does.
const PREFIX: &str = "slots:";
/// Between two tickets; none has it.
const BETWEEN: char = ',';

/// One ticket for these of the door (`None`) and of slots. Those that have no room in it come last: such an entry ends
/// by itself.
pub(super) fn join(tickets: impl Iterator<Item = (Option<u16>, Ticket)>) -> Option<Ticket> {
    let mut text = PREFIX.to_owned();
    for (part, ticket) in tickets {
        let part = part.map(|part| part.to_string()).unwrap_or_default();
        let between = if text.len() > PREFIX.len() { BETWEEN.to_string() } else { String::new() };
        let one = format!("{between}{part}={ticket}");
        if text.len() + one.len() > Ticket::MAX_LEN || ticket.as_str().contains(BETWEEN) {
            continue;
        }
        text.push_str(&one);
    }
    text.parse().ok().filter(|_| text.len() > PREFIX.len())
}

/// The tickets in one, with the election that each is for. A store's own is one.
fn split(whole: &ElectionName, ticket: &Ticket) -> Option<Vec<(ElectionName, Ticket)>> {
    let Some(tickets) = ticket.as_str().strip_prefix(PREFIX) else {
        return Some(vec![(whole.clone(), ticket.clone())]);
    };
    let one = |text: &str| {
        let (part, ticket) = text.split_once('=')?;
        let election = match part {
            "" => whole.clone(),
            number => Division::part(whole, number.parse().ok()?).ok()?,
        };
        Some((election, ticket.parse().ok()?))
    };
    tickets.split(BETWEEN).map(one).collect()
}

/// Gives up all entries that a ticket stands for, one of a candidate for slots or of any other.
///
/// # Errors
/// As [`Store::remove`]; and `Unfit` if it is no ticket. Some of the entries may be given up by then.
///
/// # Cancellation
/// As [`Store::remove`].
pub async fn redeem(
    store: &dyn Store,
    election: &ElectionName,
    ticket: &Ticket,
) -> Result<(), Error> {
    let tickets = split(election, ticket).ok_or_else(|| {
        Error::new(ErrorKind::Unfit, format!("{ticket} is no ticket of an election of slots"))
    })?;
    let redeeming =
        tickets.iter().map(|(election, ticket)| store.remove(election, Removal::Crashed(ticket)));
    // All of them are tried, whatever comes of one.
    join_all(redeeming).await.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(text: &str) -> Ticket {
        text.parse().expect("a ticket")
    }

    #[test]
    fn many_tickets_go_through_one() {
        let whole: ElectionName = "jobs".parse().expect("a name");
        let all = [(None, ticket("a=b")), (Some(0), ticket("x")), (Some(63), ticket("y-1"))];
        let joined = join(all.into_iter()).expect("one ticket");
        assert_eq!(joined.as_str(), "slots:=a=b,0=x,63=y-1");
        let split_up = split(&whole, &joined).expect("three");
        let names: Vec<_> = split_up.iter().map(|(name, one)| format!("{name} {one}")).collect();
        assert_eq!(names, ["jobs a=b", "jobs:0 x", "jobs:63 y-1"]);
        assert_eq!(split(&whole, &ticket("abc")), Some(vec![(whole.clone(), ticket("abc"))]));
        for bad in ["slots:", "slots:x", "slots:x=y", "slots:70000=y", "slots:1="] {
            assert_eq!(split(&whole, &ticket(bad)), None, "{bad}");
        }
        assert_eq!(join(std::iter::empty()), None);
    }

    #[test]
    fn there_is_room_for_the_tickets_of_every_slot() {
        let long = ticket(&"x".repeat(55));
        let all = [None].into_iter().chain((0..Division::MOST_SLOTS).map(Some));
        let joined = join(all.map(|part| (part, long.clone()))).expect("one ticket");
        assert_eq!(joined.as_str().split(BETWEEN).count(), 65);
    }
}
