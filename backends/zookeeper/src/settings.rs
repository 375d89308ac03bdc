use std::net::IpAddr;
use std::sync::atomic::{AtomicI64, Ordering};

use elect_api::{Cell, ElectionName, Error, ErrorKind, Finding, StoreId};
use elect_remote::{Credentials, Host, Identity, Tls, Url};
use zookeeper_client::{AuthId, CreateMode, Permission};

use crate::client::{Client, Options, Rights};
use crate::error::lacks_right;
use crate::layout::Layout;
use crate::login::{Login, Owners, Variable};
use crate::security::Security;

pub(crate) const DEFAULT_PORT: u16 = 2181;
const DEFAULT_DIRECTORY: &str = "/elect";
pub(crate) const OWN_OPTIONS: [&str; 3] = ["layout", "acl", StoreId::OPTION];

/// What the URL of a store says, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) hosts: Vec<Host>,
    /// The directory of the elections, without a slash at its end; never the root.
    pub(crate) directory: String,
    pub(crate) layout: Layout,
    pub(crate) login: Option<Login>,
    /// What is unsafe about them.
    pub(crate) cautions: Vec<Finding>,
    pub(crate) security: Option<Security>,
    /// Where this is, for people.
    pub(crate) location: String,
    /// The store that the URL means, or that was met first.
    pub(crate) identity: Identity,
    /// The newest transaction that the store has shown.
    newest: AtomicI64,
    acl: Acl,
}

impl Settings {
    /// Reads a URL, the files that it names, and the variables of the environment for what it leaves out.
    pub(crate) fn of(text: &str, variable: Variable) -> Result<Self, Error> {
        let known = [&OWN_OPTIONS[..], Credentials::OPTIONS, Tls::OPTIONS].concat();
        let mut url = Url::parse(text, DEFAULT_PORT, &known)?;
        if matches!(url.path.as_str(), "" | "/") {
            DEFAULT_DIRECTORY.clone_into(&mut url.path);
        }
        let login = Login::of(&url, variable)?;
        let security = Security::of(&url)?;
        let cautions = login.as_ref().map(|it| it.newest().cautions(&url, security.is_some()));
        Ok(Self {
            directory: directory_of(&url.path)?,
            layout: url.option("layout").map_or(Ok(Layout::CuratorLatch), str::parse)?,
            acl: Acl::of(url.option("acl"), login.is_some())?,
            security,
            login,
            cautions: cautions.unwrap_or_default(),
            location: url.location(),
            identity: Identity::new(StoreId::of_option(url.option(StoreId::OPTION))?),
            newest: AtomicI64::new(i64::MIN),
            hosts: url.hosts,
        })
    }

    /// The newest transaction that was made for this process.
    pub(crate) fn newest_transaction(&self) -> i64 {
        self.newest.load(Ordering::Relaxed)
    }

    /// Takes a transaction whose request was sent when this was the newest. Seats share a session, and of what
    /// they had made at the same time the newer one may come here first.
    ///
    /// # Errors
    /// It is not newer: tokens up to that may have been given already.
    pub(crate) fn admit_transaction(&self, made: i64, newest: i64) -> Result<(), Error> {
        self.newest.fetch_max(made, Ordering::Relaxed);
        if made > newest {
            return Ok(());
        }
        let what = format!(
            "{} has gone back to transaction {made}, and has shown {newest} before: it was restored from an older \
             snapshot; tokens up to {newest} may have been given already: stop all candidates, see `elect help \
             stores`, and start them again",
            self.location
        );
        Err(Error::new(ErrorKind::Unfit, what))
    }

    /// The machines, as the client library wants them.
    pub(crate) fn cluster(&self) -> String {
        let hosts: Vec<String> = self.hosts.iter().map(|host| self.spell(host)).collect();
        hosts.join(",")
    }

    /// A machine, as the client library wants it: an address is spelled so that the system's resolver
    /// reads it. One that the library can read by itself it may try to reach without a pause, for ever,
    /// when there is no way there. With TLS it must stay as the certificate has it.
    pub(crate) fn spell(&self, host: &Host) -> String {
        let Host { name, port } = host;
        match name.parse() {
            Ok(IpAddr::V4(address)) if self.security.is_none() => {
                format!("0x{:08x}:{port}", u32::from(address))
            }
            Ok(IpAddr::V6(address)) if self.security.is_none() => format!("[{address}%0]:{port}"),
            _ => host.to_string(),
        }
    }

    /// An error, with the login if that is why. The next request may have another login.
    pub(crate) fn explain(&self, error: Error) -> Error {
        match &self.login {
            Some(login) if lacks_right(&error) => {
                login.renew();
                error.and(format!(
                    "{login}; ZooKeeper accepts any password: a wrong one is another user"
                ))
            }
            _ => error,
        }
    }

    /// The path of an election.
    pub(crate) fn path_of(&self, election: &ElectionName) -> String {
        format!("{}/{}", self.directory, election.as_str())
    }

    /// The path of a cell: beside the elections, as their programs count all that is below them. No
    /// election has a name that begins with a dot.
    pub(crate) fn path_of_cell(&self, election: &ElectionName, cell: Cell<'_>) -> String {
        let (notes, data) = (self.path_of_notes(election), self.path_of_data(election));
        match cell {
            Cell::Once => format!("{notes}/once"),
            Cell::Runs => format!("{notes}/runs"),
            Cell::History => format!("{notes}/history"),
            Cell::Control => format!("{notes}/orders"),
            Cell::Fence(resource) => format!("{data}/fence/{resource}"),
            Cell::Value(key) => format!("{data}/value/{key}"),
        }
    }

    /// The node above the cells of an election that candidates need.
    pub(crate) fn path_of_notes(&self, election: &ElectionName) -> String {
        format!("{}/{}", self.path_of_all_notes(), election.as_str())
    }

    /// The node above those of all elections.
    pub(crate) fn path_of_all_notes(&self) -> String {
        format!("{}/.notes", self.directory)
    }

    /// The path of the id of the store, which all elections have in common.
    pub(crate) fn path_of_store_id(&self) -> String {
        format!("{}/.store", self.directory)
    }

    /// The node above all fences and values of an election, beside its other cells.
    pub(crate) fn path_of_data(&self, election: &ElectionName) -> String {
        format!("{}/{}", self.path_of_all_data(), election.as_str())
    }

    /// The node above the fences and values of all elections.
    pub(crate) fn path_of_all_data(&self) -> String {
        format!("{}/.data", self.directory)
    }

    /// A node of this kind, to be made under this path, and who may do what with it. A session that has seen a password
    /// renewed is known by the one before, too: what is above the node says whether that one is to own it as well. One
    /// request, if there was one before.
    pub(crate) async fn options(&self, client: &Client, mode: CreateMode, path: &str) -> Options {
        if self.acl == Acl::Open {
            return Options { mode, rights: Rights::Anyone };
        }
        let rights = match self.login.as_ref().and_then(Login::owners) {
            None => Rights::Creator,
            Some(Owners { newest, before }) => {
                let above = path.rsplit_once('/').map_or("", |(above, _)| above);
                let owners = client.get_acl(above).await.unwrap_or_default();
                let has = |id: &str| {
                    owners.iter().any(|it| it.scheme() == Login::SCHEME && it.id() == id)
                };
                if has(&newest) && !has(&before) {
                    let newest = AuthId::new(Login::SCHEME, &newest);
                    Rights::Owner([zookeeper_client::Acl::new(Permission::ALL, newest)])
                } else {
                    Rights::Creator
                }
            }
        };
        Options { mode, rights }
    }
}

fn directory_of(path: &str) -> Result<String, Error> {
    let directory = path.strip_suffix('/').unwrap_or(path);
    let mut parts = directory.split('/').skip(1);
    if parts.any(|part| matches!(part, "" | "." | "..")) {
        return Err(unfit(format!(
            "ZooKeeper has no path {path}: no part of one is empty, . or .."
        )));
    }
    directory.split('/').try_for_each(expect_no_candidate)?;
    if directory == "/zookeeper" || directory.starts_with("/zookeeper/") {
        return Err(unfit("/zookeeper is ZooKeeper's own: take another path".into()));
    }
    Ok(directory.to_owned())
}

/// Refuses a name that the candidates of another election above it would be counted with.
pub(crate) fn expect_no_candidate(name: &str) -> Result<(), Error> {
    match Layout::read(name) {
        None => Ok(()),
        Some((layout, _)) => Err(unfit(format!(
            "{name} reads as the node of a candidate (layout {layout}): take another name"
        ))),
    }
}

/// Who may read, change and remove what we create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acl {
    /// Everybody.
    Open,
    /// Clients with the same credentials.
    Creator,
}

impl Acl {
    fn of(option: Option<&str>, has_user: bool) -> Result<Self, Error> {
        match (option, has_user) {
            (None | Some("creator"), true) => Ok(Self::Creator),
            (None, false) | (Some("open"), _) => Ok(Self::Open),
            (Some("creator"), false) => {
                Err(unfit("acl=creator needs a login: give a user and a password".into()))
            }
            (Some(_), _) => Err(unfit("the option acl is open or creator".into())),
        }
    }
}

fn unfit(what: String) -> Error {
    Error::new(ErrorKind::Unfit, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Result<Settings, Error> {
        Settings::of(url, |_| None)
    }

    #[test]
    fn a_password_needs_tls_beyond_this_machine() {
        let cautions = |url: &str| of(url).expect("a good URL").cautions.len();
        assert_eq!(cautions("zk://me:hush@127.0.0.1,b"), 1);
        assert_eq!(cautions("zk://me:hush@127.0.0.1"), 0);
        assert_eq!(cautions("zk+tls://me:hush@b"), 0);
        assert_eq!(cautions("zk://b"), 0);
    }

    /// The client library panics over such a host.
    #[test]
    fn a_zone_is_in_no_certificate() {
        let error = of("zk+tls://a,[fe80::1%25eth0]").expect_err("refused");
        assert!(error.to_string().contains("leave out the zone"), "{error}");
        of("zk://[fe80::1%25eth0]").expect("it is dialled without TLS");
    }

    #[test]
    fn missing_parts_of_a_url_have_defaults() {
        let settings = of("zk://a,[::1]:7").unwrap();
        assert_eq!(settings.cluster(), "a:2181,[::1%0]:7");
        assert_eq!(settings.location, "zk://a:2181,[::1]:7/elect");
        assert_eq!(settings.path_of(&"e".parse().unwrap()), "/elect/e");
        assert_eq!(settings.layout, Layout::CuratorLatch);
        assert_eq!(settings.acl, Acl::Open);
    }

    /// As numbers that the system's resolver reads and the client library does not.
    #[test]
    fn addresses_are_left_to_the_resolver() {
        let settings = of("zk://127.0.0.1,10.1.2.3:7,[fe80::1]:8,db1").unwrap();
        assert_eq!(settings.cluster(), "0x7f000001:2181,0x0a010203:7,[fe80::1%0]:8,db1:2181");
        for spelled in ["0x7f000001:1", "[::1%0]:1"] {
            use std::net::ToSocketAddrs as _;
            let (name, port) = spelled.rsplit_once(':').unwrap();
            let name = name.trim_matches(['[', ']']);
            assert!(name.parse::<IpAddr>().is_err());
            let read = (name, port.parse().unwrap()).to_socket_addrs().unwrap().next().unwrap();
            assert!(read.ip().is_loopback(), "{read}");
        }
    }

    #[test]
    fn paths_are_directories() {
        for (url, path) in
            [("zk://a/", "/elect/e"), ("zk://a/x/y", "/x/y/e"), ("zk://a/x/", "/x/e")]
        {
            assert_eq!(of(url).unwrap().path_of(&"e".parse().unwrap()), path);
        }
    }

    #[test]
    fn a_client_with_a_login_keeps_its_nodes_to_itself() {
        let settings = of("zk://u:p@a").unwrap();
        assert_eq!(settings.acl, Acl::Creator);
        assert_eq!(of("zk://u:p@a?acl=open").unwrap().acl, Acl::Open);
        assert!(!format!("{settings:?} {}", settings.location).contains(":p"));
    }

    #[test]
    fn a_client_that_saw_newer_transactions_refuses_older_ones() {
        let settings = of("zk://a").unwrap();
        let admit = |made, newest| settings.admit_transaction(made, newest);
        for made in [5, 6, 9] {
            admit(made, settings.newest_transaction()).expect("newer");
        }
        let error = admit(7, settings.newest_transaction()).expect_err("older");
        assert!(error.to_string().contains("gone back to transaction 7"), "{error}");
        assert!(!error.may_pass());
        admit(10, settings.newest_transaction()).expect("newer");
    }

    #[test]
    fn of_two_at_the_same_time_the_newer_may_be_heard_of_first() {
        let settings = of("zk://a").unwrap();
        settings.admit_transaction(5, settings.newest_transaction()).expect("newer");
        let [one, other] = [settings.newest_transaction(); 2];
        settings.admit_transaction(7, one).expect("newer");
        settings.admit_transaction(6, other).expect("newer than what there was when it was sent");
        assert_eq!(settings.newest_transaction(), 7);
    }

    #[test]
    fn a_wrong_url_is_refused_with_the_reason() {
        for (url, why) in [
            ("zk://a//x", "no part"),
            ("zk://a/x/..", "no part"),
            ("zk://a/zookeeper/config", "ZooKeeper's own"),
            ("zk://a/x/b-lock-0000000001", "node of a candidate"),
            ("zk://a?layout=x", "curator-latch, curator-lock, kazoo"),
            ("zk://a?acl=x", "open or creator"),
            ("zk://a?acl=creator", "user"),
            ("zk://a?ca=/etc/ca", "zk+tls"),
            ("zk://a?server-name=b", "zk+tls"),
            ("zk+tls://a?server-name=b", "server-name"),
            ("zk+tls://a?ca=/nowhere", "/nowhere"),
            ("zk://a?x=1", "layout, acl"),
        ] {
            let error = of(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unfit, "{url}");
            assert!(error.to_string().contains(why), "{url}: {error}");
        }
    }
}
