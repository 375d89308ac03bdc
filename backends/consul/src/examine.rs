//! The state of each agent or server of the URL, and its faults.

use elect_api::Finding;
use elect_remote::Respondent;
use hyper::StatusCode;
use serde_json::Value;

use crate::error::Failure;
use crate::http::Question;
use crate::keys::Keys;
use crate::session::Session;

/// The path of the leader's address, which each caller may read.
pub(crate) const LEADER: &str = "/v1/status/leader";
/// The path of the servers' addresses.
const PEERS: &str = "/v1/status/peers";
const SELF: &str = "/v1/agent/self";
/// The longest request of a server whose settings say nothing else, in bytes.
const LONGEST: u64 = 512 << 10;

/// What an agent says of itself and of the servers.
pub(crate) struct State {
    /// `Null` if the token may not read it.
    agent: Value,
    /// The number of servers.
    servers: usize,
}

pub(crate) async fn state(session: &Session) -> Result<State, Failure> {
    let agent = match session.ask("state", Question::get(SELF.to_owned())).await {
        Ok(answer) if answer.status == StatusCode::OK => {
            serde_json::from_slice(&answer.body).map_err(|_| Failure::Odd("no agent"))?
        }
        Ok(_) | Err(Failure::Refused(_)) => Value::Null,
        Err(failure) => return Err(failure),
    };
    let peers = session.ask("state", Question::get(PEERS.to_owned())).await?;
    let peers: Vec<String> =
        serde_json::from_slice(&peers.body).map_err(|_| Failure::Odd("no servers"))?;
    Ok(State { agent, servers: peers.len() })
}

/// What `elect doctor` shows of an agent or a server.
pub(crate) fn examine(session: &Session, keys: &Keys, state: &State) -> Respondent {
    let (place, agent) = (&session.place, &state.agent);
    let text = |path: &str| agent.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let is_server = agent.pointer("/Config/Server").and_then(Value::as_bool);
    let is_leader = text("/Stats/consul/leader") == "true";
    let mut findings = Vec::new();
    if agent.is_null() {
        findings.push(Finding::note(
            format!("{place} does not tell this token its settings"),
            format!(
                "a policy that is enough for elect: {}; for this, add agent_prefix \"\" {{ policy = \"read\" }}",
                keys.rights()
            ),
        ));
    }
    if agent.pointer("/DebugConfig/DevMode").and_then(Value::as_bool) == Some(true) {
        findings.push(Finding::warning(
            format!("{place} runs with -dev: a restart forgets who leads"),
            "start it with a data_dir",
        ));
    }
    if text("/DebugConfig/ACLDefaultPolicy") == "allow" {
        findings.push(Finding::note(
            format!("{place} asks for no token: each client of its network can change who leads"),
            "set acl.default_policy to deny, and give elect a token",
        ));
    }
    match state.servers {
        1 => findings.push(Finding::note(
            format!("{place} knows one server of Consul: no candidate can lead while it is down"),
            "run three or five servers",
        )),
        servers if servers % 2 == 0 => findings.push(Finding::warning(
            format!(
                "{place} knows {servers} servers of Consul: no more of them may fail than of {}",
                servers - 1
            ),
            "run three or five servers",
        )),
        _ => {}
    }
    let longest = agent.pointer("/DebugConfig/TxnMaxReqLen").and_then(Value::as_u64);
    if let Some(longest) = longest.filter(|longest| *longest < LONGEST) {
        findings.push(Finding::warning(
            format!("{place} takes transactions of {longest} bytes: elect needs up to {LONGEST}"),
            "raise limits.txn_max_req_len",
        ));
    }
    Respondent {
        version: text("/Config/Version").to_owned(),
        role: match is_server {
            Some(true) if is_leader => "leader",
            Some(true) => "follower",
            Some(false) => "agent",
            None => "unknown",
        },
        store: session.store().cloned(),
        // All of them pass writes on to the leader.
        is_primary: is_leader,
        findings,
        connections: None,
    }
}
