use serde::Serialize;

use super::Table;

/// Who has led an election, as `elect history` shows it: the same keys in JSON and YAML. They are stable; more may come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HistoryReport {
    /// The election.
    pub election: String,
    /// Where it is kept, without secrets.
    pub backend: String,
    /// The leaderships that are known, the newest last.
    pub leaderships: Vec<LeadershipReport>,
}

/// One leadership.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeadershipReport {
    /// The fencing token.
    pub token: u64,
    /// The id of the candidate that led.
    pub id: String,
    /// When it began, by the leader's clock; RFC 3339 in UTC. `null` for what no clock can have shown.
    pub start: Option<String>,
    /// When it ended, by the leader's clock or that of its successor; `null` as long as nobody has said so.
    pub end: Option<String>,
    /// How it ended; `null` as long as nobody has said so.
    pub reason: Option<String>,
}

impl HistoryReport {
    /// A line for each leadership.
    pub fn table(&self) -> String {
        let mut table = Table::uncut(&["TOKEN", "ID", "START", "END", "REASON"]);
        for LeadershipReport { token, id, start, end, reason } in &self.leaderships {
            let cells = [start, end, reason].map(|cell| cell.clone().unwrap_or_default());
            table.row([token.to_string(), id.clone()].into_iter().chain(cells));
        }
        table.render()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_said_is_a_dash() {
        let leadership = |token, end: Option<&str>, reason: Option<&str>| LeadershipReport {
            token,
            id: format!("web{token}\n"),
            start: Some("2026-03-01T12:00:00.000Z".into()),
            end: end.map(Into::into),
            reason: reason.map(Into::into),
        };
        let report = HistoryReport {
            election: "job".into(),
            backend: "file:".into(),
            leaderships: vec![
                leadership(7, Some("2026-03-01T12:00:09.000Z"), Some("signal")),
                leadership(8, None, None),
            ],
        };
        assert_eq!(
            report.table(),
            "TOKEN  ID      START                     END                       REASON\n\
             7      web7\\n  2026-03-01T12:00:00.000Z  2026-03-01T12:00:09.000Z  signal\n\
             8      web8\\n  2026-03-01T12:00:00.000Z  -                         -\n"
        );
    }
}
