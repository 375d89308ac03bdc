//! Notes that the user wants the test to stop: an INT, TERM or HUP came.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::signal::unix::{SignalKind, signal};

/// INT, TERM and HUP, from now on.
#[derive(Debug)]
pub(crate) struct Interrupts(Arc<AtomicBool>);

impl Interrupts {
    pub(crate) fn watch() -> Self {
        let came = Arc::<AtomicBool>::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let runtime = runtime.expect("a runtime");
        // Handlers, not a mask: programs that we start would inherit that.
        let watched = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let mut streams = {
            let _inside = runtime.enter();
            watched.map(|kind| signal(kind).expect("a handler"))
        };
        thread::spawn({
            let came = Arc::clone(&came);
            move || {
                let [int, term, hup] = &mut streams;
                runtime.block_on(async {
                    tokio::select! {
                        _ = int.recv() => {}
                        _ = term.recv() => {}
                        _ = hup.recv() => {}
                    }
                });
                came.store(true, Ordering::Relaxed);
            }
        });
        Self(came)
    }

    pub(crate) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
