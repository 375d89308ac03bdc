//! The credentials that sign requests, found where Amazon's tools find them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_remote::Url;
use hyper::http::request::Parts;
use reqsign_aws_v4::{Credential, RequestSigner};
use reqsign_core::time::Timestamp;
use reqsign_core::{Context, SignRequest as _, SigningCredential};

use crate::error::Failure;
use crate::fetch;
use crate::sources::{Sources, refused};

/// Credentials that end sooner sign no request: the library refuses those that end within 10 s.
const LEAST: Duration = Duration::from_secs(15);

/// Signs requests to one region. The credentials are found at the first request, and again before they end.
#[derive(Clone, Debug)]
pub(crate) struct Signer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sources: Sources,
    context: Context,
    signer: RequestSigner,
    known: Mutex<Option<Credential>>,
    /// Held by the task that finds new ones.
    finding: tokio::sync::Mutex<()>,
}

impl Signer {
    /// Signs for a region. The URL may name a profile, or a file of credentials: no others are found then.
    pub(crate) fn new(region: &str, url: &Url) -> Self {
        Self(Arc::new(Inner {
            sources: Sources::of(region, url),
            context: fetch::context(),
            signer: RequestSigner::new("dynamodb", region),
            known: Mutex::new(None),
            finding: tokio::sync::Mutex::new(()),
        }))
    }

    /// Adds the signature to the head of a request. Returns the id of the key that has signed it.
    ///
    /// # Errors
    /// `Refused` if there are no credentials, or none that are good.
    ///
    /// # Cancellation
    /// The search for credentials goes on, and the next request has what it finds.
    pub(crate) async fn sign(&self, head: &mut Parts) -> Result<String, Failure> {
        let credential = self.credential().await?;
        let Inner { signer, context, .. } = &*self.0;
        let signed = signer.sign_request(context, head, Some(&credential), None).await;
        signed.map(|()| credential.access_key_id).map_err(|error| refused(&error))
    }

    /// Forgets credentials that were refused, so that the next request finds them anew.
    pub(crate) fn forget(&self, key: &str) {
        let mut known = self.0.known();
        if known.as_ref().is_some_and(|known| known.access_key_id == key) {
            *known = None;
        }
    }

    async fn credential(&self) -> Result<Credential, Failure> {
        let known = self.0.known().clone();
        let inner = Arc::clone(&self.0);
        match known {
            Some(known) if known.is_valid() => Ok(known),
            // It ends soon. No renewal waits for the next one.
            Some(known) if known.is_valid_at(Timestamp::now() + LEAST) => {
                tokio::spawn(async move { inner.find().await });
                Ok(known)
            }
            // A program that prints credentials may take longer than its caller waits.
            _ => {
                let found = tokio::spawn(async move { inner.find().await }).await;
                found.unwrap_or_else(|error| Err(Failure::Lost(error.to_string())))
            }
        }
    }
}

impl Inner {
    fn known(&self) -> MutexGuard<'_, Option<Credential>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds credentials, unless another call has just done so.
    async fn find(&self) -> Result<Credential, Failure> {
        let _one_at_a_time = self.finding.lock().await;
        let known = self.known().clone().filter(SigningCredential::is_valid);
        if let Some(known) = known {
            return Ok(known);
        }
        let found = self.sources.find(&self.context).await?;
        *self.known() = Some(found.clone());
        Ok(found)
    }
}
