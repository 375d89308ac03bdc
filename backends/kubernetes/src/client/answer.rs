//! What a server answered: the body, or why there is none of use.

use std::error::Error as StdError;
use std::time::Duration;

use elect_api::text::{WORDS, clean};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::RETRY_AFTER;
use hyper::{Response, StatusCode};
use serde_json::Value;

use super::distrust::chain_of;
use super::json::value;
use super::kubeconfig::text_in;
use super::{Failure, LONGEST, TOO_LONG};

/// The longest pause that a server may ask for, in seconds, to be believed.
const MOST_SECONDS: u64 = 24 * 60 * 60;

/// What `server` answered.
pub(super) async fn read(answer: Response<Incoming>, server: &str) -> Result<Bytes, Failure> {
    let status = answer.status();
    let strange = |what| Failure::Strange { status: status.as_u16(), what };
    let body = body_of(granted(answer).await?).await.map_err(|error| {
        if error.is::<LengthLimitError>() {
            return strange(TOO_LONG);
        }
        let why = chain_of(error.as_ref());
        Failure::Unknown(format!("the answer of {server} broke off: {why}"))
    })?;
    if is_page(&body) { Err(strange(PAGE)) } else { Ok(body) }
}

/// An answer that is no refusal.
pub(super) async fn granted(answer: Response<Incoming>) -> Result<Response<Incoming>, Failure> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let header = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let header = header.and_then(|seconds| seconds.parse().ok());
    // It is refused, whatever comes of the words about that.
    let body = body_of(answer).await.unwrap_or_default();
    Err(refused(status, &body, header))
}

async fn body_of(answer: Response<Incoming>) -> Result<Bytes, Box<dyn StdError + Send + Sync>> {
    Ok(Limited::new(answer.into_body(), LONGEST).collect().await?.to_bytes())
}

fn refused(status: StatusCode, body: &[u8], retry_after: Option<u64>) -> Failure {
    let strange = |what| Failure::Strange { status: status.as_u16(), what };
    if is_page(body) {
        return strange(PAGE);
    }
    if status.is_redirection() {
        return strange("a redirection");
    }
    let said = value(body).unwrap_or_default();
    let text = |key| text_in(&said, key).ok().flatten();
    let seconds = said.pointer("/details/retryAfterSeconds").and_then(Value::as_u64);
    let message =
        text("message").unwrap_or_else(|| String::from_utf8_lossy(body).trim().to_owned());
    Failure::Refused {
        status: status.as_u16(),
        reason: clean(text("reason").unwrap_or_default(), WORDS),
        kind: said["details"]["kind"].as_str().unwrap_or_default().to_owned(),
        message: clean(message, WORDS),
        retry_after: retry_after
            .or(seconds)
            .filter(|seconds| *seconds <= MOST_SECONDS)
            .map(Duration::from_secs),
    }
}

const PAGE: &str = "a web page";

/// Whether what was sent is HTML, as no API server sends it.
fn is_page(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"<")
}
