//! Applications that ask again and again whether they lead, and what they would have done.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use super::application::Pods;
use crate::prelude::*;

/// One answer that we lead: which pod's, and between which instants it was given.
struct Answer {
    pod: usize,
    asked: Boottime,
    answered: Boottime,
}

/// Asks for all pods in turn until it is told to stop.
pub(crate) struct Witness {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Answer>>,
}

impl Witness {
    /// Returns once there was a first answer.
    pub(crate) fn of(pods: &Pods, names: &[&str]) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let (told_of_one, first) = mpsc::channel();
        let leases: Vec<PathBuf> = names.iter().map(|pod| pods.lease(pod)).collect();
        let told = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut answers: Vec<Answer> = Vec::new();
            let missed = |answers: &[Answer]| {
                (0..leases.len()).any(|pod| answers.iter().all(|answer| answer.pod != pod))
            };
            while !told.load(Ordering::Relaxed) || missed(&answers) {
                for (pod, lease) in leases.iter().enumerate() {
                    let asked = now();
                    let check = Elect::new(ELECT).args(["check", "--lease-file"]).arg(lease);
                    if check.run().code() == 0 {
                        answers.push(Answer { pod, asked, answered: now() });
                        let _ = told_of_one.send(());
                    }
                }
            }
            answers
        });
        first.recv().expect("a leader");
        Self { stop, thread }
    }

    /// Waits until each pod was told at some time that it leads, and asserts that none was within `grace`
    /// of another's having been told so.
    #[track_caller]
    pub(crate) fn assert_apart(self, grace: Duration) {
        self.stop.store(true, Ordering::Relaxed);
        let answers = self.thread.join().expect("a witness");
        for pair in answers.windows(2).filter(|pair| pair[0].pod != pair[1].pod) {
            let apart = pair[1].answered.since(pair[0].asked);
            assert!(apart >= grace, "{apart:?} after pod {} pod {} led", pair[0].pod, pair[1].pod);
        }
    }
}
