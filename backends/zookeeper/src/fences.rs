//! The greatest token that came for a resource: a node for each, in decimal digits.

use elect_api::{Error, ErrorKind, Fenced, Token};
use zookeeper_client::{CreateMode, Error as Zk};

use crate::client::Client;
use crate::directory::make_above;
use crate::fault::{Action, fault};
use crate::settings::Settings;
use crate::sheet;

/// More than those who come for one resource at once.
const TRIES: usize = 8;

/// Records a token, unless a greater one is recorded.
///
/// Also the one that is there already is written again: only a write tells that the server which answers has not lost
/// the others.
pub(crate) async fn pass(
    client: &Client,
    settings: &Settings,
    path: &str,
    token: Token,
) -> Result<Fenced, Error> {
    let text = token.to_string();
    for _ in 0..TRIES {
        let written = if let Some((found, stat)) = sheet::peek(client, path).await? {
            let greatest = recorded(path, &found)?;
            if greatest > token {
                return Ok(Fenced::Stale(greatest));
            }
            client.set_data(path, text.as_bytes(), stat.version).await.map(drop)
        } else {
            make_above(client, settings, path).await?;
            let options = CreateMode::Persistent.with_acls(settings.acls());
            client.create(path, text.as_bytes(), options).await.map(drop)
        };
        match written {
            Ok(()) => return Ok(Fenced::Passed),
            Err(Zk::BadVersion | Zk::NodeExists | Zk::NoNode) => {}
            Err(error) => return Err(fault(Action::Write, path, error)),
        }
    }
    let what = format!("{path} changes as we write it: trying again helps");
    Err(Error::new(ErrorKind::Unreachable, what))
}

/// Who can write there can write anything: what is no token lets nobody pass.
fn recorded(path: &str, text: &[u8]) -> Result<Token, Error> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.map(Token::new).ok_or_else(|| {
        let what = format!("{path} holds no token: set it to the greatest that was used there");
        Error::new(ErrorKind::Unfit, what)
    })
}
