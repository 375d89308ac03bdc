//! Requests for credentials, which the library asks for: to the machine's metadata, or to Amazon's token services.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use elect_remote::{Check, Encryption, Host, Http, Tls, TlsSettings, Way, Witness};
use hyper::body::Bytes;
use hyper::{Request, Response, Uri};
use reqsign_core::{Context, Env, Error, FileRead, HttpSend, Result};
use tokio::time::timeout;

use crate::NAMES;

/// Why there is no answer; the text is why TLS cannot be used.
type Failure = elect_remote::Failure<String>;

/// The longest time for an answer of the machine's metadata. On machines without it nothing answers. In a container a
/// machine drops its answer if it counts more than one hop.
const METADATA_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest time for an answer of a token service, or of the service of a container, which may ask one. It ends
/// before the search for credentials does, so that the error names the host.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(4);

/// What the library may use to find credentials.
pub(crate) fn context() -> Context {
    Context::new().with_file_read(Files).with_http_send(Fetch).with_env(Variables)
}

/// The environment, as Amazon's tools read it: an empty variable counts as missing. One that is no text does, too.
#[derive(Debug)]
struct Variables;

impl Env for Variables {
    fn var(&self, key: &str) -> Option<String> {
        std::env::var(key).ok().filter(|value| !value.is_empty())
    }

    fn vars(&self) -> HashMap<String, String> {
        let texts = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        texts.filter(|(_, value)| !value.is_empty()).collect()
    }

    fn home_dir(&self) -> Option<PathBuf> {
        std::env::home_dir()
    }
}

#[derive(Debug)]
struct Files;

impl FileRead for Files {
    async fn file_read(&self, path: &str) -> Result<Vec<u8>> {
        let path = path.to_owned();
        let read = tokio::task::spawn_blocking(move || {
            let read = elect_system::path::read(Path::new(&path));
            read.map_err(|error| Error::config_invalid(format!("cannot read {path}: {error}")))
        });
        read.await.unwrap_or_else(|error| Err(Error::unexpected(error.to_string())))
    }
}

/// One connection for each request.
#[derive(Debug)]
struct Fetch;

impl HttpSend for Fetch {
    async fn http_send(&self, request: Request<Bytes>) -> Result<Response<Bytes>> {
        let uri = request.uri().clone();
        let is_secured = uri.scheme_str() == Some("https");
        let is_metadata = uri.path().starts_with("/latest/");
        let limit = if is_metadata { METADATA_TIMEOUT } else { TOKEN_TIMEOUT };
        let answer = timeout(limit, Box::pin(fetch(request, is_secured))).await;
        let why = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(Failure::Way(trouble))) => trouble.to_string(),
            Ok(Err(Failure::Lost(why) | Failure::Refused(why))) => why,
            Ok(Err(Failure::Odd(why))) => why.to_owned(),
            _ if is_metadata => {
                "no answer: in a container, the machine's metadata need a hop limit of 2".to_owned()
            }
            _ => "no answer".to_owned(),
        };
        let host = uri.host().unwrap_or_default();
        Err(Error::unexpected(format!("cannot ask {host} for credentials: {why}"))
            .set_retryable(true))
    }
}

async fn fetch(
    request: Request<Bytes>,
    is_secured: bool,
) -> std::result::Result<Response<Bytes>, Failure> {
    let host = host(request.uri(), is_secured)?;
    let encryption = if is_secured { encryption(&host).await? } else { Encryption::Off };
    let mut http = Http::dial(&Way::Network(host), &encryption, &Witness::default()).await?;
    http.ask_whole(elect_remote::wire_form(request)?).await
}

fn host(uri: &Uri, is_secured: bool) -> std::result::Result<Host, Failure> {
    let name = uri.host().ok_or(Failure::Odd("a request for credentials to no host"))?;
    let name = name.trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(if is_secured { 443 } else { 80 });
    Ok(Host { name, port })
}

/// TLS with the authorities of the system, or those that `AWS_CA_BUNDLE` names.
async fn encryption(host: &Host) -> std::result::Result<Encryption, Failure> {
    let host = host.clone();
    let read = tokio::task::spawn_blocking(move || {
        let ca = std::env::var("AWS_CA_BUNDLE").ok().filter(|path| !path.is_empty());
        let (cert, key, server_name, names) = (None, None, None, NAMES);
        let settings = TlsSettings { ca, cert, key, check: Check::Name, server_name, names };
        Tls::new(settings, &[], &[host]).map(Encryption::Required)
    });
    let read = read.await.map_err(|error| Failure::Lost(error.to_string()))?;
    read.map_err(|error| Failure::Refused(error.to_string()))
}
