//! `elect run --shards`: many elections in one, spread over all who take part.

mod disputes;
mod ends;
mod faults;
mod flags;
mod hostile;
mod moves;
mod picture;
mod sessions;
mod steering;
mod supervision;
mod troop;

use self::picture::Picture;
use self::troop::Troop;
use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};
