//! The proof that a store heeds the conditions of a put. A store that ignores one of them lets two candidates lead.

use std::sync::Arc;

use elect_api::{Error, ErrorKind, StoreId};
use elect_record::table::{Body, Key, Put, Tag};
use elect_remote::{Link, Refusal as _, Session as _, unfit};
use futures_util::future::{join, join_all, try_join_all};
use object_store::path::Path;

use super::{Bucket, Session};
use crate::PRODUCT;
use crate::error::{Failure, NO_RIGHT, NOT_IMPLEMENTED};
use crate::object::{Object, tombstone, with};

/// The number of sessions that write at once.
const RIVALS: usize = 4;
/// How often they create an object, replace it, and remove it.
const ROUNDS: usize = 2;
const DOING: &str = "cannot prove that the store heeds conditions";
const NO_CREATION: &str = "a put with If-None-Match: * creates no object";
const CREATES: &str = "a put with If-None-Match: * replaces an object";
const REPLACES: &str = "a put with If-Match replaces an object that has another ETag";
/// How a proof is written: one of puts alone, and one of deletes, too.
const PUTS: &str = "puts";
const DELETES: &str = "deletes";

/// What a server has proven.
#[derive(Clone, Debug)]
pub(crate) struct Proof {
    /// The kind of server, by its own name.
    pub(crate) server: String,
    /// Whether it heeds the condition of a delete, too.
    pub(crate) is_of_deletes: bool,
}

impl Proof {
    /// The proof in a note; `None` if the note is missing or damaged.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (what, server) = text.split_once('\n')?;
        let is_of_deletes = what == DELETES;
        (is_of_deletes || what == PUTS).then(|| Self { server: server.to_owned(), is_of_deletes })
    }

    pub(crate) fn written(&self) -> String {
        format!("{}\n{}", if self.is_of_deletes { DELETES } else { PUTS }, self.server)
    }
}

/// Writes rows on a way that has proven to heed conditions. No other code does.
pub(crate) struct Writer {
    pub(crate) session: Arc<Session>,
    pub(super) proof: Proof,
}

impl Writer {
    /// Writes an object that has this tag; `None`: there is none.
    pub(crate) async fn put(
        &self,
        path: &Path,
        expected: Option<&Tag>,
        text: String,
    ) -> Result<Put, Failure> {
        self.session.write(path, expected, text).await
    }

    /// Removes an object that has this tag, or makes it a tombstone. Returns false if it has another one, or is not
    /// there.
    pub(crate) async fn delete(&self, path: &Path, tag: &Tag) -> Result<bool, Failure> {
        if self.proof.is_of_deletes {
            match self.session.remove_if(path, tag).await {
                Err(failure) if is_unavailable(&failure) => {
                    let proof = Proof { is_of_deletes: false, ..self.proof.clone() };
                    self.session.bucket.note(&self.session.place, proof);
                }
                removed => return removed,
            }
        }
        self.session.write(path, Some(tag), tombstone()).await.map(|put| put != Put::Conflict)
    }
}

/// Returns whether the store answers that it removes nothing for these credentials, or by such a request.
fn is_unavailable(failure: &Failure) -> bool {
    failure.refusal().is_some_and(|refusal| refusal.is(&[NO_RIGHT, NOT_IMPLEMENTED]))
}

/// Returns whether the credentials have no right to remove objects. The one that it tries to remove is not there.
pub(crate) async fn is_without_deletes(session: &Session) -> bool {
    let removed = session.remove_if(&probe(session), &other_tag()).await;
    removed.is_err_and(|failure| failure.refusal().is_some_and(|it| it.is(&[NO_RIGHT])))
}

/// Has the way of a session proven. A store without an id gets one, and a note of what its server has proven. The
/// session then is closed, as the next one reads both.
///
/// # Errors
/// `Unfit` if a condition of a put is ignored; never `Ambiguous`, as no row is written.
///
/// # Cancellation
/// The proof goes on, as it may take longer than an attempt of the caller's. The next call has its outcome.
pub(crate) async fn ensure(link: &Link<Bucket>, session: &Session) -> Result<(), Error> {
    if let (Some((id, _)), Some(noted)) = (&session.id, session.noted()) {
        let proof = try_the_way(session, id, noted).await?;
        session.bucket.note(&session.place, proof);
        return Ok(());
    }
    let proof = of(link).await?;
    let id = session.store().cloned().unwrap_or_else(StoreId::fresh);
    let body = Body { head: id.as_str().to_owned(), cells: proof.written(), ..Body::default() };
    let expected = session.id.as_ref().map(|(object, _)| &object.tag);
    let made = session.write(&session.bucket.id(), expected, with(&body)).await;
    session.close();
    // Another candidate may have been faster.
    made.map(drop)
        .map_err(|failure| session.failed("cannot write the id of the store", &failure, false))
}

/// Has the store prove that it heeds conditions, unless it has.
async fn of(link: &Link<Bucket>) -> Result<Proof, Error> {
    let link = link.clone();
    let proving = tokio::spawn(async move {
        let bucket = link.opener();
        let _one_at_a_time = bucket.proving.lock().await;
        let ours = link.beside().await?;
        let server = ours.server.clone();
        if let Some(proof) = bucket.proof(&ours.place, &server) {
            return Ok(proof);
        }
        let rivals = try_join_all((1..RIVALS).map(|_| link.beside())).await?;
        let is_of_deletes = prove(&ours, &rivals).await?;
        let proof = Proof { server, is_of_deletes };
        bucket.note(&ours.place, proof.clone());
        Ok(proof)
    });
    let ended = |_| Err(Error::new(ErrorKind::Unreachable, format!("{DOING}: it was ended")));
    proving.await.unwrap_or_else(ended)
}

/// Tries the conditions on the way of this process to a store that has proven them to another one: something between
/// may strip the headers. If those of a put are ignored, the object with the id is replaced by the same.
async fn try_the_way(session: &Session, id: &Object, noted: Proof) -> Result<Proof, Error> {
    let tried = async {
        let text = id.body.as_ref().map_or_else(tombstone, with);
        let path = session.bucket.id();
        refused(&session.write(&path, None, text.clone()).await?, CREATES)?;
        refused(&session.write(&path, Some(&other_tag()), text).await?, REPLACES)?;
        let is_of_deletes = noted.is_of_deletes && try_a_delete(session).await?;
        Ok(Proof { is_of_deletes, ..noted })
    };
    tried.await.map_err(|flaw: Flaw| flaw.error(session))
}

/// Returns whether the condition of a delete is heeded on the way of this process, by an object of its own.
async fn try_a_delete(session: &Session) -> Result<bool, Flaw> {
    let path = probe(session);
    // The object would stay if none may be removed.
    if removed(session, &path, &other_tag()).await?.is_none() {
        return Ok(false);
    }
    let tag = done(session.write(&path, None, tombstone()).await?, NO_CREATION)?;
    let is_kept = removed(session, &path, &other_tag()).await? == Some(false);
    let is_removed = removed(session, &path, &tag).await? == Some(true);
    if !is_removed {
        // What stays behind costs room alone.
        let _ = session.remove(&path).await;
    }
    Ok(is_kept && is_removed)
}

/// Has a store prove it with objects of its own. `rivals` are further sessions with it. Returns whether it heeds the
/// condition of a delete, too.
async fn prove(ours: &Session, rivals: &[Session]) -> Result<bool, Error> {
    let [one, absent, others @ ..] = [0; 2 + ROUNDS].map(|_| probe(ours));
    let mut proven = one_by_one(ours, &one, &absent).await;
    for other in &others {
        if let Ok(is_of_deletes) = proven {
            proven = at_once(ours, rivals, other, is_of_deletes).await;
        }
    }
    // What stays behind costs room alone.
    join_all([&one, &absent].into_iter().chain(&others).map(|path| ours.remove(path))).await;
    proven.map_err(|flaw| flaw.error(ours))
}

/// Why a store has not proven it.
enum Flaw {
    /// It ignores a condition. These words say which.
    Ignores(&'static str),
    /// Of several writes at once it has done none, which may be different the next time.
    NoneWon,
    Failed(Failure),
}

impl Flaw {
    fn error(&self, session: &Session) -> Error {
        let place = PRODUCT.at(session.place());
        match self {
            Self::Ignores(what) => {
                let why = "is not fit for elections, as two candidates could lead at once";
                unfit(format!("{place} {why}: {what}"))
                    .and("elect help s3 names stores that are fit")
            }
            Self::NoneWon => {
                let why = "of writes at once it has done none";
                Error::new(ErrorKind::Unreachable, format!("{DOING} in {place}: {why}"))
            }
            Self::Failed(failure) => session.failed(DOING, failure, false),
        }
    }
}

impl From<Failure> for Flaw {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Fails with these words if a write was done.
fn refused(put: &Put, what: &'static str) -> Result<(), Flaw> {
    if *put == Put::Conflict { Ok(()) } else { Err(Flaw::Ignores(what)) }
}

/// An object that no other process knows.
fn probe(session: &Session) -> Path {
    let name = format!("probe-{}", tombstone());
    session.bucket.object(Key { election: Key::STORE, document: &name })
}

/// A tag that no object has.
fn other_tag() -> Tag {
    Tag("\"0123456789abcdef0123456789abcdef\"".to_owned())
}

/// The tag of a write that was done. Fails with these words if it was not.
fn done(put: Put, what: &'static str) -> Result<Tag, Flaw> {
    if let Put::Done(tag) = put { Ok(tag) } else { Err(Flaw::Ignores(what)) }
}

/// One write after the other. Returns whether it heeds the condition of a delete, too.
async fn one_by_one(ours: &Session, one: &Path, absent: &Path) -> Result<bool, Flaw> {
    let put = async |path: &Path, expected: Option<&Tag>| {
        ours.write(path, expected, tombstone()).await.map_err(Flaw::from)
    };
    let first = done(put(one, None).await?, NO_CREATION)?;
    refused(&put(one, None).await?, CREATES)?;
    refused(&put(one, Some(&other_tag())).await?, REPLACES)?;
    let second = put(one, Some(&first)).await?;
    let second = done(second, "a put with If-Match and its own ETag replaces no object")?;
    if first == second {
        return Err(Flaw::Ignores("two writes of an object have the same ETag"));
    }
    refused(
        &put(one, Some(&first)).await?,
        "a put with If-Match replaces an object whose ETag has changed",
    )?;
    refused(&put(absent, Some(&second)).await?, "a put with If-Match creates an object")?;
    if ours.read(one).await?.is_none_or(|found| found.tag != second) {
        return Err(Flaw::Ignores("a read does not show the last write"));
    }
    Ok(removed(ours, one, &first).await? == Some(false)
        && ours.read(one).await?.is_some()
        && removed(ours, one, &second).await? == Some(true)
        && ours.read(one).await?.is_none())
}

/// Whether an object was removed; `None` if the store refuses conditional deletes, or all that we ask for.
async fn removed(session: &Session, path: &Path, tag: &Tag) -> Result<Option<bool>, Flaw> {
    match session.remove_if(path, tag).await {
        Err(failure) if failure.refusal().is_some_and(|it| !it.is_unclear()) => Ok(None),
        removed => Ok(Some(removed?)),
    }
}

/// Writes of all sessions at once, of which each time one may be done. Returns whether that holds for deletes, too.
async fn at_once(
    ours: &Session,
    rivals: &[Session],
    path: &Path,
    is_of_deletes: bool,
) -> Result<bool, Flaw> {
    let mut expected = None;
    for what in [
        "of puts at once with If-None-Match: * more than one is done",
        "of puts at once with If-Match and one ETag more than one is done",
    ] {
        let all = std::iter::once(ours).chain(rivals);
        let puts = all.map(|session| session.write(path, expected.as_ref(), tombstone()));
        let puts = try_join_all(puts).await?;
        let done: Vec<_> = puts.into_iter().filter(|put| *put != Put::Conflict).collect();
        expected = match &done[..] {
            [Put::Done(tag)] => Some(tag.clone()),
            [] => return Err(Flaw::NoneWon),
            _ => return Err(Flaw::Ignores(what)),
        };
    }
    let Some(tag) = expected.filter(|_| is_of_deletes) else { return Ok(false) };
    let puts = rivals.iter().map(|session| session.write(path, Some(&tag), tombstone()));
    let (removed, puts) = join(removed(ours, path, &tag), try_join_all(puts)).await;
    let done = puts?.iter().filter(|put| **put != Put::Conflict).count();
    Ok(done + usize::from(removed? == Some(true)) == 1)
}
