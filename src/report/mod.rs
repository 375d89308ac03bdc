//! This module has everything that people and programs read: logs, progress, tables, JSON and exit codes.
//!
//! elect's own messages go to stderr. Subcommands that report something write it to stdout; `run` never does.

mod complaints;
mod config;
mod doctor;
pub mod http;
mod log;
mod manual;
mod observation;
mod outcome;
mod past;
mod progress;
mod renewals;
mod screen;
mod service_manager;
mod status;
mod table;

pub use complaints::Complaints;
pub use config::{ConfigReport, SettingReport};
pub use doctor::{
    ClockReport, ContainmentReport, DoctorReport, EndpointReport, RenewalReport, RightReport,
    TtlReport,
};
pub use elect_api::text::escape;
pub use log::{Level, Log, LogEvent, chain, root};
pub use manual::{
    SHELLS, completion_file, completions, explanation, flags, manual_page, manual_pages,
};
pub use observation::{Change, Observation};
pub use outcome::{FAILED, LOST, NOT_ACQUIRED, NOT_EXECUTABLE, NOT_FOUND, Outcome, OutcomeRecord};
pub use past::{DoneReport, HistoryReport, KeyReport, LeadershipReport};
pub use progress::{Line, Waiting};
pub use renewals::Renewals;
pub use renewals::Suspicion;
pub use screen::{
    Screen, can_print, has_reader, offer, print, print_paged, print_report, shape_of_stdout, width,
};
pub use service_manager::ServiceManager;
pub use status::{
    CandidateStatus, DivisionStatus, ElectionStatus, LeaderStatus, MemberStatus, PartKind,
    PauseStatus, StatusReport, WaitingStatus, promise,
};
pub use table::Table;
pub use table::{age, rfc3339, wall_clock};
pub use table::{fine_ms, milliseconds, whole_ms};
