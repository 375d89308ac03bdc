//! Reads an answer of the server: its body, or the reason why there is none.

use std::time::Duration;

use elect_api::text::{WORDS, clean};
use elect_remote::{Http, Unread, in_full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::Value;

use super::json::value;
use super::kubeconfig::text_in;
use super::{Failure, LONGEST, TOO_LONG};

/// The longest pause in seconds that a server may ask for. elect ignores longer ones.
const MOST_SECONDS: u64 = 24 * 60 * 60;

/// Reads the body of an answer from `server`, and removes the credentials in `shown` from it.
pub(super) async fn read(
    answer: Response<Incoming>,
    server: &str,
    shown: Option<&HeaderValue>,
) -> Result<Bytes, Failure> {
    let status = answer.status();
    let strange = |what| Failure::Strange { status: status.as_u16(), what };
    let body = Http::body_of(granted(answer, shown).await?, LONGEST).await;
    let body = body.map_err(|unread| match unread {
        Unread::TooLong => strange(TOO_LONG),
        Unread::Lost(error) => {
            let why = in_full(error.as_ref());
            Failure::Unknown(format!("the answer of {server} broke off: {why}"))
        }
    })?;
    if is_page(&body) { Err(strange(PAGE)) } else { Ok(body) }
}

/// Returns the answer unless the server refused the request.
pub(super) async fn granted(
    answer: Response<Incoming>,
    shown: Option<&HeaderValue>,
) -> Result<Response<Incoming>, Failure> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let header = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let header = header.and_then(|seconds| seconds.parse().ok());
    // The request was refused, even if its message cannot be read.
    let body = Http::body_of(answer, LONGEST).await.unwrap_or_default();
    Err(refused(status, &without(&body, shown), header))
}

/// Removes the token or the password from a message. A server that is no API server may echo them, and more people
/// read logs than kubeconfigs.
fn without(body: &[u8], shown: Option<&HeaderValue>) -> String {
    let said = String::from_utf8_lossy(body).into_owned();
    // The scheme comes before the secret.
    let secret = shown.and_then(|shown| shown.to_str().ok()?.split_once(' '));
    match secret {
        Some((_, secret)) if !secret.is_empty() => said.replace(secret, "..."),
        _ => said,
    }
}

fn refused(status: StatusCode, said: &str, retry_after: Option<u64>) -> Failure {
    let strange = |what| Failure::Strange { status: status.as_u16(), what };
    if is_page(said.as_bytes()) {
        return strange(PAGE);
    }
    if status.is_redirection() {
        return strange("a redirection");
    }
    let status_object = value(said.as_bytes()).unwrap_or_default();
    let text = |key| text_in(&status_object, key).ok().flatten();
    let seconds = status_object.pointer("/details/retryAfterSeconds").and_then(Value::as_u64);
    let message = text("message").unwrap_or_else(|| said.trim().to_owned());
    Failure::Refused {
        status: status.as_u16(),
        reason: clean(text("reason").unwrap_or_default(), WORDS),
        kind: status_object["details"]["kind"].as_str().unwrap_or_default().to_owned(),
        message: clean(message, WORDS),
        retry_after: retry_after
            .or(seconds)
            .filter(|seconds| *seconds <= MOST_SECONDS)
            .map(Duration::from_secs),
    }
}

const PAGE: &str = "a web page";

/// Returns whether the body is HTML, which no API server sends.
fn is_page(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"<")
}
