use std::fs::File;
use std::mem;
use std::os::fd::AsFd;

use async_trait::async_trait;
use elect_api::{
    Boottime, Candidate, Cell, Durability, ElectionName, Error, ErrorKind, Holds, Refreshed, Seat,
    Standing, Token, Validity, WatchedCell, Written, never,
};

use crate::atomic_file::FileWatch;
use crate::election_dir::{ENTER, ElectionDir, LOCK};
use crate::error::{failed, wrong};
use crate::file_mutex::FileMutex;
use crate::followed::Followed;
use crate::lock::{self, Held};
use crate::queue::{OwnFile, Predecessor};
use crate::root::Root;
use crate::tree::Tree;
use crate::trust::FileId;
use crate::watch::LockWatch;
use crate::{cells, token};

/// One candidate's place in one election of the local disk.
///
/// Dropping a seat has the effect of the death of its process. Its locks end, and the next candidate
/// that sees its unlocked file in the queue removes it.
pub(crate) struct FileSeat {
    root: Root,
    election: ElectionName,
    candidate: Candidate,
    file_mutex: FileMutex,
    /// The number of the candidate's first place, once it has lost it or given it up.
    arrived: Option<u64>,
    state: State,
    /// The watch of the cell that was read last.
    cell_watch: Option<FileWatch>,
    followed: Followed,
}

enum State {
    /// Not in the election.
    Out,
    /// In the queue, or at its head and about to win.
    Waiting(Waiting),
    /// Has won, and has not resigned since.
    Leading(Leading),
}

struct Waiting {
    place: OwnFile,
    watch: Option<LockWatch>,
}

struct Leading {
    place: OwnFile,
    lock: File,
    lock_id: FileId,
    /// For the command tree.
    mark: File,
    token: Token,
}

impl FileSeat {
    pub(crate) fn new(
        root: Root,
        election: ElectionName,
        candidate: Candidate,
        file_mutex: FileMutex,
    ) -> Self {
        let followed = Followed::new(root.clone(), election.clone());
        let (arrived, state) = (None, State::Out);
        Self { root, election, candidate, file_mutex, arrived, state, cell_watch: None, followed }
    }

    async fn step(&mut self) -> Result<Standing, Error> {
        match &mut self.state {
            State::Leading(leading) => return leading.prove(),
            State::Waiting(waiting) if waiting.place.is_kept()? => {
                let below = waiting.place.below()?;
                return self.advance(&below);
            }
            // The entry was removed by someone, so the candidate goes to the end of the queue.
            State::Waiting(waiting) => {
                self.arrived.get_or_insert(waiting.place.number());
                self.state = State::Out;
            }
            State::Out => {}
        }
        self.enter().await
    }

    /// Enters the queue. This is the one step that may wait: for other newcomers, at the lock of
    /// `enter`.
    async fn enter(&mut self) -> Result<Standing, Error> {
        let dir = ElectionDir::create(&self.root, &self.election)?;
        let (dir, enter) = self.file_mutex.enter(dir, ENTER).await?;
        let (place, below) = OwnFile::take(dir, &self.candidate, self.arrived)?;
        drop(enter);
        self.state = State::Waiting(Waiting { place, watch: None });
        self.advance(&below)
    }

    /// Waits for the candidate before this one, or tries to win if there is none.
    fn advance(&mut self, below: &[u64]) -> Result<Standing, Error> {
        match mem::replace(&mut self.state, State::Out) {
            State::Waiting(mut waiting) => match waiting.place.predecessor(below) {
                Ok(Some(predecessor)) => {
                    let standing = waiting.wait(predecessor);
                    self.state = State::Waiting(waiting);
                    standing
                }
                Ok(None) => self.try_win(waiting),
                Err(error) => {
                    self.state = State::Waiting(waiting);
                    Err(error)
                }
            },
            other => {
                self.state = other;
                Err(Error::new(
                    ErrorKind::Unreachable,
                    "this seat is not in the queue: trying again helps",
                ))
            }
        }
    }

    fn try_win(&mut self, mut waiting: Waiting) -> Result<Standing, Error> {
        match waiting.win() {
            Ok(Win::Won { lock, lock_id, mark, token }) => {
                let place = waiting.place;
                self.state = State::Leading(Leading { place, lock, lock_id, mark, token });
                Ok(Standing::Leading { token, validity: Validity::Unlimited, wake: never() })
            }
            Ok(Win::Busy(standing)) => {
                self.state = State::Waiting(waiting);
                Ok(standing)
            }
            Err(error) => {
                self.state = State::Waiting(waiting);
                Err(error)
            }
        }
    }
}

enum Win {
    Won { lock: File, lock_id: FileId, mark: File, token: Token },
    Busy(Standing),
}

impl Waiting {
    fn wait(&mut self, predecessor: Predecessor) -> Result<Standing, Error> {
        let Predecessor { file, id, held, ahead } = predecessor;
        let watch = match self.watch.take().filter(|watch| watch.is_on(id)) {
            Some(watch) => watch,
            None => LockWatch::start(file, id, held)?,
        };
        let wake = self.watch.insert(watch).wake();
        Ok(Standing::Waiting { ahead, alive: true, wake })
    }

    /// Tries to win at the head of the queue. On every error the lock is free again, because its file is
    /// closed.
    fn win(&mut self) -> Result<Win, Error> {
        let dir = &self.place.dir;
        let path = dir.path_of(LOCK);
        let (file, lock_id) = dir.file(LOCK)?;
        if !lock::try_write(&file).map_err(|errno| failed("lock", &path, errno))? {
            // The lock is held by a leader whose entry was removed by hand, or by one that is just
            // resigning.
            let leader = Predecessor { file, id: lock_id, held: Held::Locked, ahead: 1 };
            return self.wait(leader).map(Win::Busy);
        }
        if !dir.leads_to(&path, lock_id)? {
            return Err(wrong(
                ErrorKind::Unreachable,
                &path,
                "was replaced as we locked it: trying again helps",
            ));
        }
        let tree = match Tree::mark(dir)? {
            Ok(tree) => tree,
            Err(survivor) => return self.wait(survivor).map(Win::Busy),
        };
        if let Some(writer) = cells::obstacle(dir)? {
            return self.wait(writer).map(Win::Busy);
        }
        let token = token::next(dir)?;
        self.place.write_won(token)?;
        let mark = tree.tell(&self.place.file);
        Ok(Win::Won { lock: file, lock_id, mark, token })
    }
}

impl Leading {
    fn prove(&self) -> Result<Standing, Error> {
        let path = self.place.dir.path_of(LOCK);
        if !self.place.dir.leads_to(&path, self.lock_id)? {
            let what = format!(
                "{} was removed or replaced, so that another may hold the new one",
                path.display()
            );
            return Ok(Standing::Gone(what));
        }
        if !self.place.is_kept()? {
            return Ok(Standing::Evicted(format!(
                "our entry, {}, was removed",
                self.place.path().display()
            )));
        }
        Ok(Standing::Leading { token: self.token, validity: Validity::Unlimited, wake: never() })
    }
}

#[async_trait]
impl Seat for FileSeat {
    async fn refresh(&mut self, _now: Boottime) -> Result<Refreshed, Error> {
        let standing = self.step().await?;
        let dir = match &self.state {
            State::Waiting(waiting) => &waiting.place.dir,
            State::Leading(leading) => &leading.place.dir,
            State::Out => return Ok(standing.with(self.followed.control())),
        };
        if !standing.is_over() {
            self.followed.refresh(dir)?;
        }
        Ok(standing.or_woken_by(self.followed.wake()).with(self.followed.control()))
    }

    async fn read(&mut self, _now: Boottime, cell: Cell<'_>) -> Result<WatchedCell, Error> {
        cells::read_and_watch(&self.root, &self.election, cell, &mut self.cell_watch)
    }

    async fn write(
        &mut self,
        _now: Boottime,
        cell: Cell<'_>,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<Written, Error> {
        let State::Leading(leading) = &self.state else {
            return Ok(Written::Gone("we do not lead".into()));
        };
        // An evicted leader still keeps others from leading.
        if let Standing::Gone(why) = leading.prove()? {
            return Ok(Written::Gone(why));
        }
        cells::write_as_leader(&leading.place.dir, cell, bytes, durability)?;
        Ok(Written::Yes(0))
    }

    async fn resign(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
        if let (Some((cell, bytes)), State::Leading(leading)) = (last, &self.state)
            && leading.prove().is_ok_and(|standing| !matches!(standing, Standing::Gone(_)))
        {
            // While this process has the lock no other candidate leads, so for others this is one step
            // with the resigning.
            let dir = &leading.place.dir;
            let _ = cells::write_as_leader(dir, cell, bytes, Durability::Usual);
        }
        match mem::replace(&mut self.state, State::Out) {
            State::Out => {}
            State::Waiting(Waiting { mut place, .. }) => {
                self.arrived.get_or_insert(place.number());
                place.give_up();
            }
            State::Leading(Leading { mut place, lock, mark, .. }) => {
                self.arrived.get_or_insert(place.number());
                // The lock of the entry goes last, because the next candidate sleeps on it. All files
                // are closed and none is unlocked, so that a descendant with copies goes on holding the
                // lease. The mark goes before the lock. A mark without the lock would look like the tree
                // of a dead leader.
                place.give_up_lead();
                drop((mark, lock));
                drop(place);
            }
        }
        Ok(())
    }

    fn holds(&self) -> Holds<'_> {
        match &self.state {
            State::Leading(Leading { place, lock, mark, .. }) => {
                Holds { locks: vec![place.file.as_fd(), lock.as_fd()], marks: vec![mark.as_fd()] }
            }
            State::Out | State::Waiting(_) => Holds::default(),
        }
    }
}
