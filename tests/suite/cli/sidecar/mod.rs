//! `elect sidecar`: leads on behalf of an application that it has not started.

mod application;
mod fitness;
mod health_command;
mod http;
mod standing;
mod usage;
mod witness;
