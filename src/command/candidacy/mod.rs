//! What every command has that takes part in an election: how its candidacy is shown, told and posted.

mod checkup;
mod clock;
pub(super) mod environment;
mod feed;
mod get;
mod helper;
mod hooked;
mod hooks;
mod http;
mod kin;
mod observer;
mod poster;
mod service;
mod surveyor;

pub(super) use checkup::{Checkup, Leave};
pub(super) use clock::BootClock;
pub(super) use feed::Feed;
pub(super) use hooked::Hooked;
pub(super) use hooks::Hooks;
pub(super) use http::{Estate, Page, listen};
pub(super) use observer::{Observer, Shared};
pub(super) use poster::Poster;
pub(super) use service::{Charge, Service, keep_in_touch};
