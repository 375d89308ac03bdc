use std::sync::Arc;

use elect_api::{Boottime, Error, Survey};
use tokio::sync::watch;

use super::validity::Told;
use crate::election::machine::{Event, News};
use crate::election::{Called, driver};
use crate::guard::Deadlines;

/// Tells the program why leadership ends, and keeps what it is to be told at the end.
pub(super) struct Observer {
    told: Arc<watch::Sender<Told>>,
    /// Why our entry could not be removed.
    pub(super) left: Option<Error>,
}

impl Observer {
    pub(super) const fn new(told: Arc<watch::Sender<Told>>) -> Self {
        Self { told, left: None }
    }
}

impl driver::Observer for Observer {
    fn news(&mut self, news: News) {
        match news {
            News::Lost(why) | News::SteppingDown(why) => {
                self.told.send_modify(|told| _ = told.why.get_or_insert(why));
            }
            News::EntryLeft(error) => self.left = Some(error),
            _ => {}
        }
    }

    fn happened(&mut self, _: &Event) {}

    fn renewed(&mut self, _: Deadlines) {}

    fn called(&mut self, _: &Called) {}

    fn turns(&mut self, _: Option<Boottime>) {}

    fn wants_surveys(&self) -> bool {
        false
    }

    fn survey(&mut self, _: &Survey, _: Option<&str>) -> Option<Event> {
        None
    }
}
