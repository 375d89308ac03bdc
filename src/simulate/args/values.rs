//! This file parses the values of `elect simulate`'s flags: delays, and faults with their times.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use elect_simulation::{Delay, Drift, PerMillion, Process};

use crate::cli::parse_duration;
use crate::cli::values::parse_share;

/// The time of a fault that is given without a time.
pub const USUAL_TIME: Duration = Duration::from_secs(30);
/// The longest outage that is simulated.
const LONGEST_OUTAGE: Duration = Duration::from_secs(3600);
/// A day, in seconds.
const DAY: f64 = 86_400.0;

/// The round-trip time of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoundTrip {
    /// A given delay, which is the delay of one way.
    Given(Delay),
    /// Measured round trips, from this file.
    Measured(PathBuf),
}

/// The allowed forms of a round trip, for error messages.
const ROUND_TRIPS: &str = "write 80ms, 60ms..100ms, normal:80ms:5ms, lognormal:80ms:0.3 or @FILE, which `elect doctor -o \
                           json` writes";

impl FromStr for RoundTrip {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| format!("{why}; {ROUND_TRIPS}");
        let half = |text: &str| parse_trip(text).map(|time| time / 2).map_err(|why| refuse(&why));
        let words: Vec<&str> = text.split(':').collect();
        let delay = match words[..] {
            [file] if file.starts_with('@') => return Ok(Self::Measured(file[1..].into())),
            ["normal", mean, deviation] => Ok(Delay::normal(half(mean)?, half(deviation)?)),
            ["lognormal", median, sigma] => {
                let sigma = thousandths(sigma).ok_or_else(|| refuse("not a sigma"))?;
                Delay::log_normal(half(median)?, sigma)
            }
            [single] => match single.split_once("..") {
                Some((least, most)) => {
                    let (from, to) = (half(least)?, half(most)?);
                    if from > to {
                        let why =
                            format!("the range {single} is empty: give the lesser time first");
                        return Err(refuse(&why));
                    }
                    Delay::uniform(from, to)
                }
                None => Ok(Delay::constant(half(single)?)),
            },
            _ => return Err(refuse("not a round trip")),
        };
        delay.map(Self::Given).map_err(|why| refuse(&why.to_string()))
    }
}

/// Reads the time of one round trip, with its unit. Elsewhere a bare number means seconds. For a round trip most people
/// would read it as milliseconds, so it is refused.
///
/// # Errors
/// If the text has no unit, or is not a duration.
pub fn parse_trip(text: &str) -> Result<Duration, String> {
    if text != "0" && text.ends_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Err(format!("{text} has no unit: write {text}ms or {text}s"));
    }
    parse_duration(text)
}

fn thousandths(text: &str) -> Option<u32> {
    let value: f64 = text.parse().ok().filter(|value| (0.0..=1000.0).contains(value))?;
    format!("{:.0}", value * 1000.0).parse().ok()
}

/// The node that a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeName {
    /// The node that leads at that time.
    Leader,
    /// The candidate with this number, from 1.
    Candidate(usize),
    /// The member of the store with this number, from 1.
    Member(usize),
}

impl FromStr for NodeName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |digits: &str| {
            let digits = Some(digits).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
            digits?.parse().ok().filter(|number| *number > 0)
        };
        match text {
            "leader" => Some(Self::Leader),
            text => match text.strip_prefix('s') {
                Some(digits) => number(digits).map(Self::Member),
                None => number(text).map(Self::Candidate),
            },
        }
        .ok_or_else(|| format!("{text:?} names no process; write leader, 1 for the first candidate, or s1 for the store's first member"))
    }
}

/// The time span of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    /// The time at which it begins.
    pub from: Duration,
    /// The time at which it ends; `None` if it does not end.
    pub until: Option<Duration>,
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, until) = match text.split_once("..") {
            Some((from, until)) => (parse_duration(from)?, Some(parse_duration(until)?)),
            None => (parse_duration(text)?, None),
        };
        if until.is_some_and(|until| until <= from) {
            return Err(format!("{text} ends before it begins"));
        }
        Ok(Self { from, until })
    }
}

/// A fault, and its time span: `leader@20s`, `leader@20s..30s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The fault.
    pub what: What,
    /// Its time span.
    pub when: When,
}

/// A fault, as people write it. Without a process it hits the whole machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A machine or a process dies.
    Kill(NodeName, Option<Process>),
    /// A machine or a process is stopped.
    Pause(NodeName, Option<Process>),
    /// A machine is stopped with its clock. A process is refused later.
    Suspend(NodeName, Option<Process>),
    /// A machine is cut off from all others. A process is refused later.
    Isolate(NodeName, Option<Process>),
    /// The network splits.
    Split(Sides),
    /// The messages from the first node to the second one are lost.
    OneWay(NodeName, NodeName),
    /// A clock runs at another rate.
    Drift(NodeName, Drift),
    /// This share of messages is lost.
    Loss(PerMillion),
}

impl Timed {
    /// Reads a fault with its time. A fault that is given without a time comes at the `usual` one.
    fn read(
        text: &str,
        usual: Duration,
        what: impl FnOnce(&str) -> Result<What, String>,
    ) -> Result<Self, String> {
        let (fault, when) = match text.rsplit_once('@') {
            Some((fault, when)) => (fault, when.parse()?),
            None => (text, When { from: usual, until: None }),
        };
        Ok(Self { what: what(fault)?, when })
    }

    /// Reads a fault of one machine or process: `leader`, `leader.wrapper`.
    pub(crate) fn blow(
        text: &str,
        make: fn(NodeName, Option<Process>) -> What,
    ) -> Result<Self, String> {
        Self::read(text, USUAL_TIME, |text| {
            let (node, process) = match text.split_once('.') {
                None => (text, None),
                Some((node, "wrapper")) => (node, Some(Process::Wrapper)),
                Some((node, "guardian")) => (node, Some(Process::Guardian)),
                Some((node, "both")) => (node, Some(Process::Both)),
                Some((_, other)) => {
                    return Err(format!(
                        "{other:?} is no process of elect; write wrapper, guardian or both"
                    ));
                }
            };
            Ok(make(node.parse()?, process))
        })
    }

    /// Reads a split of the network: `1,s1/2,3,s2,s3`.
    pub(super) fn split(text: &str) -> Result<Self, String> {
        Self::read(text, USUAL_TIME, |sides| Ok(What::Split(sides.parse()?)))
    }

    /// Reads a link that loses all messages of one direction: `1:s1`.
    pub(super) fn one_way(text: &str) -> Result<Self, String> {
        Self::read(text, USUAL_TIME, |text| {
            let (from, to) =
                text.split_once(':').ok_or("write who sends and who hears nothing: 1:s1")?;
            let (from, to) = (one_by_name(from)?, one_by_name(to)?);
            if from == to {
                return Err(
                    "the link has one end only; write two different ones, such as 1:s1".to_owned()
                );
            }
            Ok(What::OneWay(from, to))
        })
    }

    /// Reads a clock that runs at another rate: `1:+20%`. At the beginning there is no leader, so a fault of the leader
    /// takes the usual time.
    pub(super) fn drift(text: &str) -> Result<Self, String> {
        let usual = if text.starts_with("leader") { USUAL_TIME } else { Duration::ZERO };
        Self::read(text, usual, |text| {
            let (node, share) =
                text.split_once(':').ok_or("write whose clock, and by how much: 1:+20%")?;
            let percent = share.strip_suffix('%').and_then(|share| share.parse::<f64>().ok());
            let millionths = percent.filter(|share| share.is_finite()).map(|share| share * 1e4);
            let millionths = millionths
                .and_then(|share| format!("{share:.0}").parse().ok())
                .ok_or_else(|| format!("{share:?} is no drift; write +20% or -5%"))?;
            if millionths > 1_000_000 {
                return Err(format!("{share:?} is more than twice as fast; write +100% at most"));
            }
            let drift = Drift::per_million(millionths).map_err(|_| {
                format!(
                    "{share:?} is a clock that stands still, or goes back; write more than -100%"
                )
            })?;
            Ok(What::Drift(node.parse()?, drift))
        })
    }

    /// Reads the share of messages that are lost: `5%`.
    pub(super) fn loss(text: &str) -> Result<Self, String> {
        Self::read(text, Duration::ZERO, |text| {
            share(parse_share(text)?).map(What::Loss).map_err(|why| why.to_string())
        })
    }
}

/// Converts a fraction of one to a share.
///
/// # Errors
/// If it is more than one, or negative.
pub fn share(fraction: f64) -> anyhow::Result<PerMillion> {
    Ok(PerMillion::new(format!("{:.0}", fraction * 1e6).parse()?)?)
}

/// The nodes on each side of a split, or in each region: `1,s1/2,3,s2,s3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides(pub Vec<Vec<NodeName>>);

impl FromStr for Sides {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let side = |side: &str| side.split(',').map(one_by_name).collect::<Result<Vec<_>, _>>();
        let sides = text.split('/').map(side).collect::<Result<Vec<_>, _>>()?;
        if sides.len() < 2 {
            return Err("write two sides at least, with / between them: 1,s1/2,s2".to_owned());
        }
        Ok(Self(sides))
    }
}

/// Regions that are far from each other: `1,s1/2,s2/s3=80ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between {
    /// The nodes in each region.
    pub sides: Sides,
    /// The round trip between nodes of different regions.
    pub rtt: RoundTrip,
}

impl FromStr for Between {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (sides, rtt) = text
            .split_once('=')
            .ok_or("write the groups, and the round trip between them: 1,s1/2,s2=80ms")?;
        Ok(Self { sides: sides.parse()?, rtt: rtt.parse()? })
    }
}

/// Reads a node that is known before the run begins.
fn one_by_name(text: &str) -> Result<NodeName, String> {
    match text.parse()? {
        NodeName::Leader => {
            Err("who leads is not known beforehand; name each by its number".to_owned())
        }
        node => Ok(node),
    }
}

/// A recurring outage: `10s/week` or `2s*5/day`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outage {
    /// The length of each outage.
    pub length: Duration,
    /// The number of outages in thirty days.
    pub monthly: f64,
}

impl FromStr for Outage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse =
            || format!("{text:?} is no outage; write 10s/week, or 2s*5/day for five a day");
        let (what, unit) = text.split_once('/').ok_or_else(refuse)?;
        let days = match unit {
            "hour" => 1.0 / 24.0,
            "day" => 1.0,
            "week" => 7.0,
            "month" => 30.0,
            "year" => 365.0,
            _ => return Err(format!("{unit:?} is no span; write hour, day, week, month or year")),
        };
        let (length, count) = match what.split_once('*') {
            Some((length, count)) => (length, count.parse::<f64>().map_err(|_| refuse())?),
            None => (what, 1.0),
        };
        let length = parse_duration(length)?;
        if !(count > 0.0 && count <= 1e6) || length.is_zero() {
            return Err(refuse());
        }
        if length > LONGEST_OUTAGE || length.as_secs_f64() * count > days * DAY {
            return Err(format!(
                "{text:?} is too long; an outage takes an hour at most, and less than all the time"
            ));
        }
        Ok(Self { length, monthly: count * 30.0 / days })
    }
}

/// Reads the number of leaderships that may be lost: any number from 0 on.
pub(super) fn parse_tolerance(text: &str) -> Result<f64, String> {
    let count = text.parse::<f64>().ok().filter(|count| *count >= 0.0 && count.is_finite());
    count.ok_or_else(|| format!("{text:?} is no number of leaderships; write 0.1, or 0 for none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn a_round_trip_is_two_ways() {
        let delay = |text: &str| match text.parse() {
            Ok(RoundTrip::Given(delay)) => delay,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(delay("80ms"), Delay::constant(S / 25));
        assert_eq!(delay("0"), Delay::constant(Duration::ZERO));
        assert_eq!(delay("60ms..100ms"), Delay::uniform(S * 3 / 100, S / 20).unwrap());
        assert_eq!(delay("normal:80ms:10ms"), Delay::normal(S / 25, S / 200));
        assert_eq!(delay("lognormal:80ms:0.3"), Delay::log_normal(S / 25, 300).unwrap());
        assert_eq!("@x".parse(), Ok(RoundTrip::Measured("x".into())));
        for bad in [
            "",
            "-5ms",
            "soon",
            "80",
            "60..100ms",
            "normal:80:5ms",
            "9ms..2ms",
            "normal:1ms",
            "lognormal:1ms:9",
            "x:1ms:1ms",
            "lognormal:1ms:-1",
        ] {
            let said = bad.parse::<RoundTrip>().unwrap_err();
            assert!(said.contains("60ms..100ms"), "{bad}: {said}");
        }
    }

    #[test]
    fn faults_have_a_target_and_a_time() {
        let kill = |text| Timed::blow(text, What::Kill);
        let timed = |what, from, until: Option<u32>| {
            let until = until.map(|until| until * S);
            Ok(Timed { what, when: When { from: from * S, until } })
        };
        assert_eq!(kill("leader@20s"), timed(What::Kill(NodeName::Leader, None), 20, None));
        let guardian = What::Kill(NodeName::Candidate(2), Some(Process::Guardian));
        assert_eq!(kill("2.guardian@20s..30s"), timed(guardian, 20, Some(30)));
        assert_eq!(kill("s3"), timed(What::Kill(NodeName::Member(3), None), 30, None));
        let sides =
            vec![vec![NodeName::Candidate(1), NodeName::Member(1)], vec![NodeName::Candidate(2)]];
        let split = What::Split(Sides(sides));
        assert_eq!(Timed::split("1,s1/2@20s..30s"), timed(split, 20, Some(30)));
        let one_way = What::OneWay(NodeName::Candidate(1), NodeName::Member(2));
        assert_eq!(Timed::one_way("1:s2@20s..30s"), timed(one_way, 20, Some(30)));
        for bad in ["0@1s", "+1@1s", "x@1s", "1@-5s", "1@9s..2s", "1.kernel@1s", "s0", "@", "1@"] {
            assert!(kill(bad).is_err(), "{bad}");
        }
        for bad in ["1,2@1s", "leader/2@1s", "1,/2@1s"] {
            assert!(Timed::split(bad).is_err(), "{bad}");
        }
        assert!(Timed::one_way("1:1").is_err() && Timed::one_way("1").is_err());
    }

    #[test]
    fn drifts_losses_and_outages_are_shares_and_rates() {
        for (text, millionths) in [("1:+20%", 200_000), ("1:-5.5%", -55_000)] {
            let drift = Drift::per_million(millionths).unwrap();
            assert_eq!(
                Timed::drift(text).unwrap().what,
                What::Drift(NodeName::Candidate(1), drift)
            );
        }
        assert!(Timed::drift("1:-100%").is_err() && Timed::drift("1:fast").is_err());
        let loss = What::Loss(PerMillion::new(50_000).unwrap());
        assert_eq!(Timed::loss("5%").unwrap().what, loss);
        assert!(Timed::loss("101%").is_err() && Timed::loss("-1%").is_err());
        let outage = "2s*5/day".parse::<Outage>().unwrap();
        assert_eq!(outage.length, 2 * S);
        assert!((outage.monthly - 150.0).abs() < 1e-9);
        for bad in ["10s", "10s/decade", "-1s/day", "0s/day", "1s*0/day", "1s*x/day"] {
            assert!(bad.parse::<Outage>().is_err(), "{bad}");
        }
        assert_eq!(parse_tolerance("0"), Ok(0.0));
        for bad in ["-1", "NaN", "inf", "few", ""] {
            assert!(parse_tolerance(bad).is_err(), "{bad}");
        }
    }
}
