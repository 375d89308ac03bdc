//! The parts that every command with a candidacy shares: the log, the service manager, `--http`,
//! hooks, health checks and the lease file.

pub(crate) mod environment;
mod health;
mod hook_supervisor;
mod hooks;
mod http;
mod label_keeper;
mod lease_file_writer;
mod observer;
mod service;

use elect_api::{Finding, Severity, Store};

use crate::report::Log;

pub(super) use health::{HealthCheck, Leave};
pub(super) use health::{prepare_health_checks, run_health_checks};
pub(super) use hook_supervisor::HookSupervisor;
pub(super) use hooks::Hooks;
pub(super) use http::Feed;
pub(super) use http::{CandidatePage, listen};
pub(super) use label_keeper::LabelKeeper;
pub(super) use lease_file_writer::LeaseFileWriter;
pub(super) use observer::{Observer, Shared};
pub(super) use service::{Charge, Service, keep_in_touch};

/// Logs the store's cautions, such as an unencrypted connection. The caller does this once per
/// process, however many candidacies it has.
pub(super) fn warn_of(store: &dyn Store, log: &Log) {
    for Finding { severity, what, way_out } in store.profile().cautions {
        match severity {
            Severity::Note => log.info(format_args!("note: {what}; {way_out}")),
            _ => log.warn(format_args!("{what}: {way_out}")),
        }
    }
}
