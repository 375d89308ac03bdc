use elect_api::{Error, ErrorKind};

use crate::layout::Layout;
use crate::sequence::{Circle, Sequence};

/// The candidates of one election, the leader first.
#[derive(Debug)]
pub(crate) struct Queue {
    candidates: Vec<(Sequence, String)>,
    /// A child of another layout, whose order differs from this one.
    foreign: Option<(String, Layout)>,
}

/// The place of a node in a queue.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// No candidate is before it.
    First,
    /// `ahead` candidates are before it, and the last of them is the predecessor.
    Behind { ahead: usize, predecessor: String },
    /// The node is missing.
    Missing,
}

impl Queue {
    /// Sorts the children of an election of this layout.
    pub(crate) fn of(children: Vec<String>, layout: Layout) -> Self {
        let mut queue = Self { candidates: Vec::new(), foreign: None };
        for child in children {
            match Layout::read(&child) {
                Some((found, sequence)) if found == layout => {
                    queue.candidates.push((sequence, child));
                }
                Some((other, _)) => queue.foreign = Some((child, other)),
                None => {}
            }
        }
        let circle = Circle::of(queue.candidates.iter().map(|(number, _)| *number));
        // Two nodes share a number only if they were made by hand.
        queue.candidates.sort_by(|(a, a_name), (b, b_name)| {
            (circle.place(*a), a_name).cmp(&(circle.place(*b), b_name))
        });
        queue
    }

    /// Returns the place of the node with this name. A node of another layout has none: see [`Queue::check`].
    pub(crate) fn position(&self, name: &str) -> Position {
        match self.candidates.iter().position(|(_, child)| child == name) {
            None => Position::Missing,
            Some(0) => Position::First,
            Some(ahead) => {
                Position::Behind { ahead, predecessor: self.candidates[ahead - 1].1.clone() }
            }
        }
    }

    /// The names of the candidates, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.candidates.iter().map(|(_, name)| name.as_str())
    }

    /// Returns the names with this prefix: one entry, unless replies were lost.
    pub(crate) fn beginning(&self, prefix: &str) -> Vec<String> {
        self.names().filter(|name| name.starts_with(prefix)).map(str::to_owned).collect()
    }

    /// The number of candidates.
    pub(crate) const fn len(&self) -> usize {
        self.candidates.len()
    }

    /// Refuses an election that has a candidate of another layout: a candidate of each layout would find itself first.
    pub(crate) fn check(&self, directory: &str, layout: Layout) -> Result<(), Error> {
        let Some((child, other)) = &self.foreign else { return Ok(()) };
        let what = format!(
            "{directory} has the candidate {child} of layout {other}, which cannot share an election with \
             {layout}: take the option layout={other}, or another path"
        );
        Err(Error::new(ErrorKind::Unfit, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(children: &[&str]) -> Queue {
        Queue::of(children.iter().map(ToString::to_string).collect(), Layout::CuratorLatch)
    }

    #[test]
    fn all_of_one_layout_are_in_one_order() {
        let queue =
            queue(&["_c_b-latch-0000000010", "noise", "_c_z-latch-0000000009", "latch--000000001"]);
        let names: Vec<&str> = queue.names().collect();
        assert_eq!(names, ["latch--000000001", "_c_z-latch-0000000009", "_c_b-latch-0000000010"]);
        assert_eq!(queue.position("latch--000000001"), Position::First);
        let predecessor = "_c_z-latch-0000000009".to_owned();
        let behind = Position::Behind { ahead: 2, predecessor };
        assert_eq!(queue.position("_c_b-latch-0000000010"), behind);
        assert_eq!(queue.position("noise"), Position::Missing);
        assert_eq!(queue.beginning("_c_b-"), ["_c_b-latch-0000000010"]);
        assert!(queue.check("/e", Layout::CuratorLatch).is_ok());
    }

    #[test]
    fn the_first_after_the_wrap_is_the_last() {
        let queue = queue(&["latch--2147483648", "latch-2147483647"]);
        assert_eq!(queue.position("latch-2147483647"), Position::First);
        assert_eq!(queue.len(), 2);
    }

    #[test]
    fn another_layout_is_refused_with_the_one_to_take() {
        let error = queue(&["x__lock__0000000001"]).check("/e", Layout::CuratorLatch).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unfit);
        for word in ["/e", "x__lock__0000000001", "layout=kazoo"] {
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
