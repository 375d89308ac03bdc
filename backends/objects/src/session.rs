//! The session with a bucket: the requests to it, in the words of elect.

pub(crate) mod proof;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use elect_amazon::Signer;
use elect_api::{Error, Order, StoreId};
use elect_record::table::{Key, Put, Tag};
use elect_remote::{
    Address, Destination, Encryption, Http, HttpQueue, Identity, Opener, Product, Pulse,
    Respondent, Session as _, Variable, Witness,
};
use futures_util::TryStreamExt as _;
use hyper::header::{CACHE_CONTROL, HeaderValue, IF_MATCH, USER_AGENT};
use hyper::{HeaderMap, Method, Request};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer as _};
use object_store::{
    Attribute, Attributes, ClientOptions, ObjectStore as _, ObjectStoreExt as _, PutMode,
    PutOptions, RetryConfig, UpdateVersion,
};

use self::proof::{Proof, Writer};
use crate::error::{Failure, NO_BUCKET, Refusal};
use crate::examine::{self, State};
use crate::object::{Object, TOMBSTONE};
use crate::wire::{Wire, failure};
use crate::{PRODUCT, SCHEME, address};

/// The document of the store that has its id.
const ID: Key<'static> = Key { election: Key::STORE, document: "id" };

/// For how long the signature of an address is good.
const SIGNED: Duration = Duration::from_secs(15 * 60);

/// Opens sessions with one bucket.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    pub(crate) name: String,
    pub(crate) order: Order,
    region: String,
    prefix: Path,
    signer: Signer,
    /// What each kind of server has proven to this process, by the place where it was reached.
    proven: Arc<Mutex<Vec<(String, Proof)>>>,
    /// Held by the task that has it prove that.
    proving: Arc<tokio::sync::Mutex<()>>,
}

/// A connection to the store, and what signs its requests.
pub(crate) struct Session {
    /// The host, for messages.
    place: String,
    pub(crate) bucket: Bucket,
    /// The object with the id of the store, and the id, if it has one.
    id: Option<(Object, StoreId)>,
    /// The kind of server, by its own name when the session began.
    pub(crate) server: String,
    /// Whether there was no such bucket then.
    is_without_bucket: bool,
    objects: AmazonS3,
    wire: Wire,
    pulse: Pulse,
}

impl Bucket {
    pub(crate) fn of(address: &Address) -> Self {
        Self {
            name: address.database.clone(),
            // What is wrong in them was refused with the URL.
            order: elect_amazon::order(&address.url).unwrap_or(Order::Race),
            prefix: address::prefix(&address.url).unwrap_or_default(),
            region: address.space.clone(),
            signer: Signer::new(SCHEME, &address.space, &address.url),
            proven: Arc::default(),
            proving: Arc::default(),
        }
    }

    /// The object of a row.
    pub(crate) fn object(&self, key: Key<'_>) -> Path {
        self.prefix.clone().join(key.election).join(key.document)
    }

    pub(crate) fn id(&self) -> Path {
        self.object(ID)
    }

    /// The name of all objects of elect in a policy.
    pub(crate) fn arn(&self) -> String {
        let partition = match self.region.split_once('-') {
            Some(("cn", _)) => "aws-cn",
            Some(("us", rest)) if rest.starts_with("gov-") => "aws-us-gov",
            _ => "aws",
        };
        format!("arn:{partition}:s3:::{}/{}*", self.name, self.folder())
    }

    /// What the keys of all objects begin with; empty if the bucket has no others.
    pub(crate) fn folder(&self) -> String {
        let prefix = self.prefix.as_ref();
        if prefix.is_empty() { String::new() } else { format!("{prefix}/") }
    }

    /// Notes what a server at a place has proven to this process.
    fn note(&self, place: &str, proof: Proof) {
        let mut proven = self.proven.lock().unwrap_or_else(PoisonError::into_inner);
        proven.retain(|(at, known)| at != place || known.server != proof.server);
        proven.push((place.to_owned(), proof));
    }

    /// What a server of this kind at a place has proven to this process.
    fn proof(&self, place: &str, server: &str) -> Option<Proof> {
        let proven = self.proven.lock().unwrap_or_else(PoisonError::into_inner);
        let found = proven.iter().find(|(at, proof)| at == place && proof.server == server);
        found.map(|(_, proof)| proof.clone())
    }

    /// The library's client of the bucket at a destination.
    fn client(
        &self,
        address: &Address,
        destination: &Destination,
        wire: &Wire,
    ) -> object_store::Result<AmazonS3> {
        let is_secured = !matches!(address.encryption, Encryption::Off);
        let (scheme, usual) = if is_secured { ("https", 443) } else { ("http", 80) };
        let is_below = destination
            .way
            .host()
            .is_some_and(|it| address::is_below(&address.url, &self.name, it));
        // As it is signed.
        let host = destination.way.authority(usual);
        let no_cache = HeaderValue::from_static("no-cache");
        let us = HeaderValue::from_static(concat!("elect/", env!("CARGO_PKG_VERSION")));
        let headers = HeaderMap::from_iter([(CACHE_CONTROL, no_cache), (USER_AGENT, us)]);
        AmazonS3Builder::new()
            .with_bucket_name(&self.name)
            .with_region(&self.region)
            .with_endpoint(format!("{scheme}://{host}"))
            .with_virtual_hosted_style_request(is_below)
            .with_credentials(Arc::new(wire.clone()))
            .with_http_connector(wire.clone())
            .with_client_options(ClientOptions::new().with_default_headers(headers))
            // A write is sent once.
            .with_retry(RetryConfig { max_retries: 0, ..RetryConfig::default() })
            .with_disable_bulk_delete(true)
            .build()
    }
}

impl Session {
    /// Carries out a request of the library's.
    async fn ask<T>(
        &self,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, Failure> {
        self.wire.prepare().await?;
        let answer = async { request.await.map_err(|error| failure(&error)) };
        let answer = self.pulse.ask(answer).await;
        if !self.is_without_bucket {
            return answer;
        }
        // The bucket may be made at any time. The next session reads the id of the store in it.
        self.close();
        answer.and_then(|_| Err(Failure::Lost("the bucket was made meanwhile".to_owned())))
    }

    /// Reads an object as it stands after the call.
    pub(crate) async fn read(&self, path: &Path) -> Result<Option<Object>, Failure> {
        let found = self.ask(async {
            let found = self.objects.get(path).await?;
            let tag = found.meta.e_tag.clone();
            Ok((tag, found.bytes().await?))
        });
        let (tag, text) = match found.await {
            Err(failure) if failure.refusal().is_some_and(Refusal::is_absence) => return Ok(None),
            found => found?,
        };
        let text = std::str::from_utf8(&text).map_err(|_| Failure::Odd("an object of no text"))?;
        Ok(Some(Object::read(tag.ok_or(Failure::Odd("an object without an ETag"))?, text)))
    }

    /// Writes an object that has this tag; `None`: there is none. Rows are written by [`Session::writer`] alone.
    async fn write(
        &self,
        path: &Path,
        expected: Option<&Tag>,
        text: String,
    ) -> Result<Put, Failure> {
        let mode = match expected {
            None => PutMode::Create,
            Some(Tag(tag)) => {
                PutMode::Update(UpdateVersion { e_tag: Some(tag.clone()), version: None })
            }
        };
        let attributes = Attributes::from_iter([(Attribute::CacheControl, "no-store")]);
        let options = PutOptions { mode, attributes, ..PutOptions::default() };
        let written = self.ask(self.objects.put_opts(path, text.into(), options)).await;
        match written {
            Ok(written) => {
                let tag = written.e_tag.ok_or(Failure::Odd("an object without an ETag"))?;
                Ok(Put::Done(Tag(tag)))
            }
            Err(failure) if failure.refusal().is_some_and(Refusal::is_conflict) => {
                Ok(Put::Conflict)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Removes an object that has this tag. Returns false if it has another one, or is not there.
    async fn remove_if(&self, path: &Path, Tag(tag): &Tag) -> Result<bool, Failure> {
        let tag = HeaderValue::from_str(tag).map_err(|_| Failure::Odd("a tag of no text"))?;
        let signed = SignedUrlOptions::new().with_signed_header(IF_MATCH, tag.clone());
        let removed = self.ask(async {
            let url = self.objects.signed_url_opts(Method::DELETE, path, SIGNED, &signed).await?;
            Ok(self.wire.send(Request::delete(url.as_str()).header(IF_MATCH, tag)).await)
        });
        match removed.await? {
            Err(failure) if failure.refusal().is_some_and(Refusal::is_conflict) => Ok(false),
            removed => removed.map(|_| true),
        }
    }

    /// What the store says of a setting of the bucket, such as `versioning`.
    pub(crate) async fn setting(&self, name: &str) -> Result<String, Failure> {
        let signed = SignedUrlOptions::new().with_query([(name, "")]);
        let (bucket, get) = (Path::default(), Method::GET);
        let answer = self.ask(async {
            let url = self.objects.signed_url_opts(get, &bucket, SIGNED, &signed).await?;
            Ok(self.wire.send(Request::get(url.as_str())).await)
        });
        answer.await?
    }

    /// Removes an object that no one else writes.
    async fn remove(&self, path: &Path) -> Result<(), Failure> {
        self.ask(self.objects.delete(path)).await
    }

    /// The documents of an election after `last`, in the order of bytes, without tombstones.
    pub(crate) async fn documents(
        &self,
        election: &str,
        last: &str,
    ) -> Result<Vec<String>, Failure> {
        let folder = self.bucket.prefix.clone().join(election);
        let last = folder.clone().join(last);
        let found = self.objects.list_with_offset(Some(&folder), &last).try_collect::<Vec<_>>();
        let found = self.ask(found).await?;
        let rows = found.iter().filter(|found| found.size != TOMBSTONE);
        let name = |path: &Path| {
            let mut parts = path.prefix_match(&folder)?;
            let name = parts.next().map(|part| part.as_ref().to_owned());
            name.filter(|_| parts.next().is_none())
        };
        Ok(rows.filter_map(|found| name(&found.location)).collect())
    }

    /// The elections that have an object.
    pub(crate) async fn elections(&self) -> Result<Vec<String>, Failure> {
        let found = self.ask(self.objects.list_with_delimiter(Some(&self.bucket.prefix))).await?;
        let names = found.common_prefixes.iter().filter_map(Path::filename);
        Ok(names.filter(|name| *name != Key::STORE).map(str::to_owned).collect())
    }

    /// The id of the store, if it has one.
    pub(crate) fn store(&self) -> Option<&StoreId> {
        self.id.as_ref().map(|(_, id)| id)
    }

    /// What writes rows; `None` if the way to the store is not proven to this process, or the store has no id.
    pub(crate) fn writer(self: &Arc<Self>) -> Option<Writer> {
        self.store()?;
        let proof = self.bucket.proof(&self.place, &self.server)?;
        Some(Writer { session: Arc::clone(self), proof })
    }

    /// What a server of this kind has proven to the process that has written the id.
    pub(crate) fn noted(&self) -> Option<Proof> {
        let body = self.id.as_ref()?.0.body.as_ref()?;
        Proof::read(&body.cells).filter(|proof| proof.server == self.server)
    }
}

impl elect_remote::Session for Session {
    type Refusal = Refusal;

    const PRODUCT: Product = PRODUCT;

    fn place(&self) -> &str {
        &self.place
    }

    fn pulse(&self) -> &Pulse {
        &self.pulse
    }

    /// A session ends if another kind of server answers. The next one learns what that has proven.
    fn is_connected(&self) -> bool {
        self.wire.is_open() && self.wire.server() == self.server
    }

    async fn check(&self) -> bool {
        self.read(&self.bucket.id()).await.is_ok()
    }
}

impl Opener for Bucket {
    type Session = Session;
    type State = State;

    fn parse(url: &str, variable: Variable<'_>) -> Result<Address, Error> {
        address::parse(url, variable)
    }

    async fn log_in(
        &self,
        address: &Address,
        destination: &Destination,
        witness: &Witness,
    ) -> Result<Session, Failure> {
        // A session ends with its connection: the next one reads the id of the store that it reaches.
        let http = Http::dial(&destination.way, &address.encryption, witness).await?;
        let (requests, pulse) = HttpQueue::over(http, ());
        let wire = Wire::new(requests, self.signer.clone());
        let objects = self.client(address, destination, &wire).map_err(|error| failure(&error))?;
        let (place, bucket) = (destination.way.to_string(), self.clone());
        let (id, server) = (None, String::new());
        let mut session =
            Session { place, bucket, id, server, is_without_bucket: false, objects, wire, pulse };
        let found = match session.read(&self.id()).await {
            // Each request for a row says so.
            Err(failure) if is_without_bucket(&failure) => {
                session.is_without_bucket = true;
                None
            }
            found => found?,
        };
        session.server = session.wire.server();
        session.id = match found {
            Some(object) => {
                let id = object.body.as_ref().and_then(|it| StoreId::read(it.head.as_bytes()));
                Some((object, id.ok_or(Failure::Odd("the id of the store is damaged"))?))
            }
            None => None,
        };
        Ok(session)
    }

    fn admit(&self, session: &Session, identity: &Identity) -> Result<(), Error> {
        // A bucket that is missing has no id, and is not another one.
        if session.is_without_bucket {
            return Ok(());
        }
        identity.admit(&PRODUCT.at(&session.place), session.store())
    }

    async fn state(&self, session: &Session) -> Result<State, Failure> {
        examine::state(session).await
    }

    async fn examine(&self, session: &Session, state: State) -> Respondent {
        examine::examine(session, &state).await
    }
}

/// Returns whether there is no such bucket.
pub(crate) fn is_without_bucket(failure: &Failure) -> bool {
    failure.refusal().is_some_and(|refusal| refusal.is(&[NO_BUCKET]))
}
