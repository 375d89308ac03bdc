//! What people get to see of a sidecar: the same as of any candidate, but no command is stopped.

use elect_api::Survey;

use crate::election::driver;
use crate::election::machine::{Event, News};
use crate::report::Log;

/// Says in other words what another observer would say about a command.
pub(super) struct Quiet<'a, O> {
    others: O,
    log: &'a Log,
}

impl<'a, O> Quiet<'a, O> {
    pub(super) const fn new(others: O, log: &'a Log) -> Self {
        Self { others, log }
    }
}

impl<O: driver::Observer> driver::Observer for Quiet<'_, O> {
    fn news(&mut self, news: News) {
        match news {
            News::Lost(why) => self.log.warn(format_args!("leadership is lost: {why}")),
            News::SteppingDown(why) => {
                self.log.warn(format_args!("giving leadership up: {why}"));
            }
            news => self.others.news(news),
        }
    }

    fn wants_surveys(&self) -> bool {
        self.others.wants_surveys()
    }

    fn survey(&mut self, survey: &Survey) -> Option<Event> {
        self.others.survey(survey)
    }
}
