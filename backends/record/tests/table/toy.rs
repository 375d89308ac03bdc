//! A complete table: a folder with a file for each row. A lock makes each comparison and its write one step.

use std::fs::{self, File};
use std::io::{self, ErrorKind::NotFound};
use std::path::PathBuf;

use async_trait::async_trait;
use elect_api::{Cadence, Error, ErrorKind, Lease, Order, Profile};
use elect_record::table::{Body, Epoch, Key, Put, Range, Row, Rows, Table, Tag};

pub(crate) struct FolderTable {
    pub(crate) folder: PathBuf,
}

impl FolderTable {
    /// Does `work` while no other process changes a row. A store with servers would send one request here.
    fn locked<T>(&self, work: impl FnOnce() -> io::Result<T>) -> Result<T, Error> {
        let lock = File::create(self.folder.join("lock")).map_err(unreachable)?;
        lock.lock().map_err(unreachable)?;
        // Whether a failed write has happened is not known.
        work().map_err(|error| unreachable(error).with_kind(ErrorKind::Ambiguous))
    }

    fn path(&self, key: Key<'_>) -> PathBuf {
        self.folder.join(format!("rows/{}/{}", key.election, key.document))
    }

    /// Reads a row: its tag, its head and its cells are lines of a file.
    fn row(&self, key: Key<'_>) -> io::Result<Option<Row>> {
        let text = match fs::read_to_string(self.path(key)) {
            Err(error) if error.kind() == NotFound => return Ok(None),
            text => text?,
        };
        let (tag, body) = text.split_once('\n').unwrap_or_default();
        Ok(Some(Row { tag: Tag(tag.to_owned()), body: Body::split(body) }))
    }

    /// The names in a folder below that of all rows.
    fn names(&self, below: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.folder.join("rows").join(below)) {
            Err(error) if error.kind() == NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }
}

#[async_trait]
impl Table for FolderTable {
    fn profile(&self) -> Profile {
        let location = format!("folder://{}", self.folder.display());
        Profile::new("folder", location, Lease::Timed(Cadence::RECORD), Order::Queue)
    }

    fn may_lose(&self) -> bool {
        false
    }

    async fn put(
        &self,
        key: Key<'_>,
        epoch: &str,
        expected: Option<&Tag>,
        body: &Body,
    ) -> Result<Put, Error> {
        let tag = Tag(format!("{:016x}", fastrand::u64(..)));
        self.locked(|| {
            let found = self.row(key)?;
            if found.map(|row| row.tag).as_ref() != expected || epoch != Epoch::only().name {
                return Ok(Put::Conflict);
            }
            let path = self.path(key);
            fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
            // A reader never sees half a row.
            let draft = self.folder.join("draft");
            fs::write(&draft, format!("{}\n{}", tag.0, body.joined()))?;
            fs::rename(draft, path)?;
            Ok(Put::Done(tag))
        })
    }

    async fn delete(&self, key: Key<'_>, tag: &Tag) -> Result<bool, Error> {
        self.locked(|| match self.row(key)? {
            Some(row) if row.tag != *tag => Ok(false),
            Some(_) => fs::remove_file(self.path(key)).map(|()| true),
            None => Ok(true),
        })
    }

    async fn scan(&self, range: Range<'_>) -> Result<Rows, Error> {
        let mut rows = Vec::new();
        for election in self.names("").map_err(unreachable)? {
            for document in self.names(&election).map_err(unreachable)? {
                let key = Key { election: &election, document: &document };
                if range.contains(key)
                    && let Some(row) = self.row(key).map_err(unreachable)?
                {
                    rows.push((election.clone(), document, row));
                }
            }
        }
        Ok(Rows { epoch: Epoch::only(), rows })
    }
}

fn unreachable(error: io::Error) -> Error {
    Error::new(ErrorKind::Unreachable, "cannot use the folder of rows").because(error)
}

mod laws {
    use elect_record::table::Table;
    use elect_testkit::Servers;
    use elect_testkit::table::Ground;
    use tempfile::TempDir;

    struct Folder(TempDir);

    #[async_trait::async_trait]
    impl Ground for Folder {
        async fn connect(&self) -> Box<dyn Table> {
            Box::new(super::FolderTable { folder: self.0.path().to_owned() })
        }
    }

    async fn ground(_: Servers) -> Folder {
        Folder(TempDir::new().expect("a folder"))
    }

    elect_testkit::table_laws!(ground);
}
