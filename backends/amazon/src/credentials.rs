//! The credentials that sign requests, found where Amazon's tools find them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_api::Error;
use elect_remote::Url;
use hyper::http::request::Parts;
pub use reqsign_aws_v4::Credential;
use reqsign_aws_v4::RequestSigner;
use reqsign_core::time::Timestamp;
use reqsign_core::{Context, SignRequest as _, SigningCredential};

use crate::fetch;
use crate::sources::{Sources, refused};

/// Credentials that end sooner sign no request: the library refuses those that end within 10 s.
const LEAST: Duration = Duration::from_secs(15);

/// Signs requests to a service in one region. The credentials are found at the first request, and again before they
/// end.
#[derive(Clone, Debug)]
pub struct Signer(Arc<Inner>);

/// Why a request was not signed.
#[derive(Debug)]
pub enum Refused {
    /// There are no credentials, or none that are good.
    Credentials(String),
    /// What has the credentials does not answer.
    NoAnswer(String),
}

impl Refused {
    /// The error of a request that was not signed. `what` says what failed.
    pub fn error(&self, what: String) -> Error {
        use elect_api::ErrorKind::{Denied, Unreachable};
        let (kind, why) = match self {
            Self::Credentials(why) => (Denied, why),
            Self::NoAnswer(why) => (Unreachable, why),
        };
        Error::new(kind, what).because(why.as_str())
    }
}

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
    /// Signs for a service. The URL may name a profile, or a file of credentials: no others are found then.
    pub fn new(service: &str, region: &str, url: &Url) -> Self {
        Self(Arc::new(Inner {
            sources: Sources::of(region, url),
            context: fetch::context(),
            signer: RequestSigner::new(service, region),
            known: Mutex::new(None),
            finding: tokio::sync::Mutex::new(()),
        }))
    }

    /// Adds the signature to the head of a request. Returns the id of the key that has signed it.
    ///
    /// # Errors
    /// Why there are no credentials, or none that are good.
    ///
    /// # Cancellation
    /// The search for credentials goes on, and the next request has what it finds.
    pub async fn sign(&self, head: &mut Parts) -> Result<String, Refused> {
        let credential = self.credential().await?;
        let Inner { signer, context, .. } = &*self.0;
        let signed = signer.sign_request(context, head, Some(&credential), None).await;
        signed.map(|()| credential.access_key_id).map_err(|error| refused(&error))
    }

    /// Forgets credentials that were refused, so that the next request finds them anew.
    pub fn forget(&self, key: &str) {
        let mut known = self.0.known();
        if known.as_ref().is_some_and(|known| known.access_key_id == key) {
            *known = None;
        }
    }

    /// The credentials that sign a request now.
    ///
    /// # Errors
    /// As [`Signer::sign`].
    ///
    /// # Cancellation
    /// As [`Signer::sign`].
    pub async fn credential(&self) -> Result<Credential, Refused> {
        let known = self.0.known().clone();
        let inner = Arc::clone(&self.0);
        match known {
            Some(known) if known.is_valid() => Ok(known),
            // It ends soon. No renewal waits for the next one.
            Some(known) if known.is_valid_at(Timestamp::now() + LEAST) => {
                tokio::spawn(async move { inner.find_in_time().await });
                Ok(known)
            }
            // A program that prints credentials may take longer than its caller waits.
            _ => tokio::spawn(async move { inner.find().await })
                .await
                .unwrap_or_else(|error| Err(Refused::NoAnswer(error.to_string()))),
        }
    }
}

impl Inner {
    fn known(&self) -> MutexGuard<'_, Option<Credential>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds credentials, unless another call does so already.
    async fn find_in_time(&self) {
        if let Ok(_one_at_a_time) = self.finding.try_lock() {
            // The request that needs new ones says why there are none.
            let _ = self.renew().await;
        }
    }

    /// Finds credentials, unless another call has just done so.
    async fn find(&self) -> Result<Credential, Refused> {
        let _one_at_a_time = self.finding.lock().await;
        let known = self.known().clone().filter(SigningCredential::is_valid);
        match known {
            Some(known) => Ok(known),
            None => self.renew().await,
        }
    }

    async fn renew(&self) -> Result<Credential, Refused> {
        let found = self.sources.find(&self.context).await?;
        *self.known() = Some(found.clone());
        Ok(found)
    }
}
