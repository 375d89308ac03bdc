//! What people ask of an election: a sheet whose first line is its version, in decimal digits.

use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_api::{ElectionName, Error, ErrorKind, Ordered, Orders, Wake, never};
use tokio::time::sleep;

use crate::door::Door;
use crate::fault::wrong;
use crate::hall::{Hall, ORDER, ORDERS};
use crate::root::Root;
use crate::sheet::{self, LookOut};
use crate::token::floor;
use crate::trust::FileId;

/// The digits of the greatest version and the end of their line.
const HEAD: usize = 21;

/// How long there has to be nothing to do before a look-out is started: to be rid of one costs more time than
/// the shortest commands take, and a refresh before it finds the orders without one.
const CALM: Duration = Duration::from_millis(500);

/// The orders of an election, as a seat has them.
pub(crate) struct Followed {
    root: Root,
    election: ElectionName,
    orders: Orders,
    /// What was read last. It is held open, so that no other file can have its number.
    read: Option<(File, FileId)>,
    look_out: Arc<Mutex<Option<LookOut>>>,
}

impl Followed {
    pub(crate) fn new(root: Root, election: ElectionName) -> Self {
        Self { root, election, orders: Orders::default(), read: None, look_out: Arc::default() }
    }

    /// As they were found last.
    pub(crate) const fn orders(&self) -> &Orders {
        &self.orders
    }

    /// Finds out what they are; reads them only if they are others.
    pub(crate) fn look(&mut self, hall: &Hall) -> Result<(), Error> {
        let id = hall.id_of(ORDERS)?;
        if id.is_some() && id == self.read.as_ref().map(|(_, id)| *id) {
            return Ok(());
        }
        self.read = None;
        if id.is_none() {
            self.orders = Orders::default();
            return Ok(());
        }
        match open(hall) {
            Ok((orders, read)) => {
                (self.orders, self.read) = (orders, read);
                Ok(())
            }
            // What somebody has damaged by hand asks nothing: who wants to change it is told.
            Err(error) if error.kind() == ErrorKind::Unfit => {
                self.orders = Orders::default();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Ends when there are others.
    pub(crate) fn wake(&self) -> Wake {
        if let Some(wake) = standing(&self.look_out) {
            return wake;
        }
        let (root, election) = (self.root.clone(), self.election.clone());
        let (look_out, known) = (Arc::clone(&self.look_out), self.orders.version);
        Box::pin(async move {
            sleep(CALM).await;
            *lock(&look_out) = start(&root, &election);
            // Where there is none the next refresh has to do.
            let wake = standing(&look_out).unwrap_or_else(never);
            // They may have come before it stood.
            if read(&root, &election).is_ok_and(|orders| orders.version == known) {
                wake.await;
            }
        })
    }
}

/// The wake of the look-out, if there is one that still sleeps.
fn standing(look_out: &Mutex<Option<LookOut>>) -> Option<Wake> {
    lock(look_out).as_ref().filter(|it| it.is_on(ORDERS)).map(LookOut::wake)
}

fn lock(look_out: &Mutex<Option<LookOut>>) -> MutexGuard<'_, Option<LookOut>> {
    look_out.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(root: &Root, election: &ElectionName) -> Option<LookOut> {
    LookOut::start(&root.path.join(election.as_str()), ORDERS.to_owned()).ok().flatten()
}

fn parse(hall: &Hall, file: &File) -> Result<Orders, Error> {
    let path = hall.path_of(ORDERS);
    let bytes = sheet::read(file, Orders::LONGEST + HEAD, &path)?;
    from_bytes(&bytes)
        .ok_or_else(|| wrong(ErrorKind::Unfit, &path, "holds no orders of elect: remove it"))
}

fn from_bytes(bytes: &[u8]) -> Option<Orders> {
    let end = bytes.iter().take(HEAD).position(|&byte| byte == b'\n')?;
    let digits = bytes[..end].iter().all(u8::is_ascii_digit);
    let version = std::str::from_utf8(&bytes[..end]).ok()?.parse().ok()?;
    (digits && version > 0).then(|| Orders { text: Some(bytes[end + 1..].to_vec()), version })
}

fn to_bytes(text: &[u8], version: u64) -> Vec<u8> {
    [format!("{version}\n").as_bytes(), text].concat()
}

/// What there is. Takes no lock and creates nothing.
pub(crate) fn read(root: &Root, election: &ElectionName) -> Result<Orders, Error> {
    let Some(hall) = Hall::visit(root, election)? else { return Ok(Orders::default()) };
    open(&hall).map(|(orders, _)| orders)
}

fn open(hall: &Hall) -> Result<(Orders, Option<(File, FileId)>), Error> {
    let found = sheet::open(hall, ORDERS)?;
    let orders = match &found {
        Some((file, _)) => parse(hall, file)?,
        None => Orders::default(),
    };
    Ok((orders, found))
}

/// Writes them in place of those of this version.
///
/// The next version is the wall clock's microseconds, or one more than the last: so orders that were forgotten
/// do not lend theirs to others.
pub(crate) async fn write(
    root: &Root,
    election: &ElectionName,
    text: &[u8],
    version: u64,
) -> Result<Ordered, Error> {
    let hall = Hall::create(root, election)?;
    let (hall, _order) = Door::default().enter(hall, ORDER).await?;
    if open(&hall)?.0.version != version {
        return Ok(Ordered::Overtaken);
    }
    let next = floor().max(version.saturating_add(1));
    sheet::replace(&hall, ORDERS, &to_bytes(text, next))?;
    Ok(Ordered::Written(next))
}

#[cfg(test)]
mod tests {
    use super::{Orders, from_bytes, to_bytes};

    #[test]
    fn what_is_written_is_what_is_read() {
        for (text, version) in [(&b""[..], 1), (b"\n\n7", 12), (b"\xff\0", u64::MAX)] {
            let orders = Orders { text: Some(text.to_vec()), version };
            assert_eq!(from_bytes(&to_bytes(text, version)), Some(orders));
        }
    }

    #[test]
    fn what_nobody_wrote_is_not_read() {
        for bad in [&b""[..], b"12", b"\n", b"0\n", b"+1\n", b" 1\n", b"18446744073709551616\n"] {
            assert_eq!(from_bytes(bad), None, "{bad:?}");
        }
    }
}
