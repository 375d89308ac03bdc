//! What a request shows of who we are.

use std::sync::Arc;

use hyper::header::HeaderValue;

use super::tls::Identity;

/// What a request shows.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) authorization: Option<HeaderValue>,
    /// The certificate of a plugin, for a connection.
    pub(super) identity: Option<Arc<Identity>>,
}

impl Pass {
    pub(super) fn showing(header: HeaderValue) -> Self {
        Self { authorization: Some(header), identity: None }
    }
}

/// The header that shows a token; `None` if there can be none.
pub(super) fn bearer(token: &[u8]) -> Option<HeaderValue> {
    let token = std::str::from_utf8(token).ok()?;
    hidden(&format!("Bearer {token}"))
}

/// A header that shows in no `Debug`.
pub(super) fn hidden(text: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::from_str(text).ok()?;
    header.set_sensitive(true);
    Some(header)
}
