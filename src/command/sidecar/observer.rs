//! What people get to see of a sidecar: the same as of any candidate, but no command is stopped.

use elect_api::{Boottime, Survey};

use crate::command::candidacy::Service;
use crate::election::machine::{Event, News};
use crate::election::{Called, driver};
use crate::guard::{self, Deadlines};
use crate::report::Log;
use crate::report::http::{HttpState, Reason};

/// Says in other words what another observer would say about a command, and at once that we do not lead
/// when we begin to give leadership up.
pub(super) struct Quiet<'a, O> {
    others: O,
    log: &'a Log,
    board: Option<&'a HttpState>,
    service: Option<&'a Service<'a>>,
}

impl<'a, O> Quiet<'a, O> {
    pub(super) const fn new(
        others: O,
        log: &'a Log,
        board: Option<&'a HttpState>,
        service: Option<&'a Service<'a>>,
    ) -> Self {
        Self { others, log, board, service }
    }

    fn over(&self, reason: Reason, why: String) {
        if let Some(board) = self.board {
            board.over(reason, Some(why));
        }
    }
}

impl<O: driver::Observer> driver::Observer for Quiet<'_, O> {
    fn news(&mut self, news: News) {
        if let (News::Lost(_) | News::SteppingDown(_), Some(service)) = (&news, self.service) {
            service.news(&news);
        }
        match news {
            News::Lost(why) => {
                self.log.error(format_args!("leadership is lost: {why}"));
                self.over(Reason::Lost, why);
            }
            News::SteppingDown(why) => {
                self.log.warn(format_args!("giving leadership up: {why}"));
                self.over(Reason::SteppedDown, why);
            }
            News::Stopping(signal) => {
                self.others.news(News::SteppingDown(guard::told_to_end(signal)));
            }
            News::Emptied => {}
            news => self.others.news(news),
        }
    }

    fn happened(&mut self, event: &Event) {
        // There is no command that could end.
        if !matches!(event, Event::Ended(_) | Event::Outlived | Event::Empty) {
            self.others.happened(event);
        }
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        self.others.renewed(deadlines);
    }

    fn called(&mut self, called: &Called) {
        self.others.called(called);
    }

    fn turns(&mut self, next: Option<Boottime>) {
        self.others.turns(next);
    }

    fn wants_surveys(&self) -> bool {
        self.others.wants_surveys()
    }

    fn survey(&mut self, survey: &Survey, pause: Option<&str>) -> Option<Event> {
        self.others.survey(survey, pause)
    }
}
