//! The transport of the library that speaks S3: elect's own queue of requests, which tells what was sent, and the
//! credentials that elect finds.

use std::error::Error as StdError;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use elect_amazon::Signer;
use elect_api::count_trip;
use elect_api::text::{WORDS, clean};
use elect_remote::{HttpQueue, Refusal as _, wire_form};
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, SERVER};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use object_store::aws::AwsCredential;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use object_store::signer::Url;
use object_store::{ClientOptions, CredentialProvider};

use crate::error::{Failure, Refusal};

/// The way of requests to the store.
#[derive(Clone, Debug)]
pub(crate) struct Wire(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    requests: HttpQueue<Refusal>,
    signer: Signer,
    server: Mutex<String>,
}

impl Wire {
    pub(crate) fn new(requests: HttpQueue<Refusal>, signer: Signer) -> Self {
        Self(Arc::new(Inner { requests, signer, server: Mutex::default() }))
    }

    pub(crate) fn is_open(&self) -> bool {
        self.0.requests.is_open()
    }

    /// The kind of server that answered last, by its own name; empty if it gives none.
    pub(crate) fn server(&self) -> String {
        self.0.server.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Finds credentials before a request, so that its time does not run yet.
    pub(crate) async fn prepare(&self) -> Result<(), Failure> {
        let found = self.0.signer.credential().await;
        found.map(drop).map_err(|refused| Failure::Refused(Refusal::Unsigned(refused)))
    }

    /// Sends a request without a body, to an address that carries its signature.
    pub(crate) async fn send(
        &self,
        request: hyper::http::request::Builder,
    ) -> Result<String, Failure> {
        let request = request.body(HttpRequestBody::empty());
        let request = request.map_err(|_| Failure::Odd("a request that is no text"))?;
        let answer = self.ask(request).await?.into_body().bytes().await;
        let answer = answer.map_err(|_| Failure::Odd("an answer without its body"))?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    async fn ask(&self, request: HttpRequest) -> Result<HttpResponse, Failure> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(|_| Failure::Odd("a request without its body"))?;
        let is_list = head.uri.query().is_some_and(|query| query.contains("list-type"));
        count_trip(match head.method {
            Method::PUT => "put_object",
            Method::DELETE => "delete_object",
            _ if is_list => "list_objects",
            _ if head.uri.path().ends_with('/') => "get_bucket",
            _ => "get_object",
        });
        let key = signed_by(&head);
        let request = wire_form(Request::from_parts(head, body.to_bytes()))?;
        let answer = self.0.requests.ask(request).await?;
        let refusal = (!answer.status().is_success()).then(|| Refusal::of(&answer));
        // A proxy that answers itself is not the server.
        if refusal.as_ref().is_none_or(|refusal| !refusal.is_unclear()) {
            *self.0.server.lock().unwrap_or_else(PoisonError::into_inner) = server(&answer);
        }
        if let Some(refusal) = refusal {
            if refusal.is_of_credentials() {
                self.0.signer.forget(&key);
            }
            return Err(Failure::Refused(refusal));
        }
        // The library takes any text for an empty list.
        let root = b"<ListBucketResult";
        if is_list && !answer.body().windows(root.len()).any(|part| part == root) {
            return Err(Failure::Odd("no list of objects"));
        }
        Ok(answer.map(HttpResponseBody::from))
    }
}

/// The kind of server and its version, by its own name. The comment after it may be the name of a machine.
fn server(answer: &Response<Bytes>) -> String {
    let name = answer.headers().get(SERVER).and_then(|name| name.to_str().ok());
    let name = name.and_then(|name| name.split(" (").next()).unwrap_or_default();
    clean(name.to_owned(), WORDS)
}

/// The id of the key that has signed a request, by a header or in its address.
fn signed_by(head: &Parts) -> String {
    let header = head.headers.get(AUTHORIZATION).and_then(|header| header.to_str().ok());
    let scope = header.and_then(|header| header.split_once("Credential=")).map(|(_, it)| it.into());
    let scope: Option<String> = scope.or_else(|| {
        let url = Url::parse(&head.uri.to_string()).ok()?;
        let (_, scope) = url.query_pairs().find(|(name, _)| name == "X-Amz-Credential")?;
        Some(scope.into_owned())
    });
    scope.unwrap_or_default().split('/').next().unwrap_or_default().to_owned()
}

#[async_trait]
impl HttpService for Wire {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = self.ask(request).await;
        answer.map_err(|failure| HttpError::new(HttpErrorKind::Unknown, Carried::new(failure)))
    }
}

impl HttpConnector for Wire {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl CredentialProvider for Wire {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let found = self.0.signer.credential().await.map_err(|refused| {
            let failure = Failure::Refused(Refusal::Unsigned(refused));
            object_store::Error::Generic { store: "S3", source: Box::new(Carried::new(failure)) }
        })?;
        Ok(Arc::new(AwsCredential {
            key_id: found.access_key_id,
            secret_key: found.secret_access_key,
            token: found.session_token,
        }))
    }
}

/// A failure on its way through the library, which passes errors on as sources of others.
#[derive(Debug)]
struct Carried(Mutex<Option<Failure>>);

impl Carried {
    fn new(failure: Failure) -> Self {
        Self(Mutex::new(Some(failure)))
    }
}

impl std::fmt::Display for Carried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no good answer")
    }
}

impl StdError for Carried {}

/// The failure that an error of the library has with it.
pub(crate) fn failure(error: &object_store::Error) -> Failure {
    let mut source: Option<&dyn StdError> = Some(error);
    while let Some(error) = source {
        if let Some(Carried(failure)) = error.downcast_ref() {
            let failure = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
            return failure.unwrap_or(Failure::Silent);
        }
        source = error.source();
    }
    Failure::Odd("an answer that is not one of S3")
}
