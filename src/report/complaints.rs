//! What people read of one trouble that goes on: each of its texts once, as the members of a store fail in turn.

use super::Level;

/// How many texts people read of one trouble. Texts with a number in them never end.
const MOST: usize = 8;
/// What follows the last of them.
const NO_MORE: &str = "; -v shows how else it fails from here on";

/// The texts of one trouble that were told, and how loudly.
#[derive(Debug, Default)]
pub struct Complaints(Vec<(Level, String)>);

impl Complaints {
    /// None were told.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Whether people should read `text` at this level. If so, this is what follows it: mostly nothing.
    pub fn tell(&mut self, level: Level, text: &str) -> Option<&'static str> {
        let loud = self.0.iter().filter(|(as_loud, _)| *as_loud <= level);
        let told = loud.clone().count();
        if told >= MOST || loud.map(|(_, told)| told).any(|told| told == text) {
            return None;
        }
        self.0.retain(|(_, told)| told != text);
        self.0.push((level, text.to_owned()));
        Some(if told + 1 == MOST { NO_MORE } else { "" })
    }

    /// Whether this text was told.
    pub fn knows(&self, text: &str) -> bool {
        self.0.iter().any(|(_, told)| told == text)
    }

    /// The trouble is over. Returns how loudly people were told of it.
    pub fn end(&mut self) -> Option<Level> {
        std::mem::take(&mut self.0).into_iter().map(|(level, _)| level).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_take_turns_are_told_once_each() {
        let mut complaints = Complaints::none();
        let told = |complaints: &mut Complaints, level| {
            let told =
                (0..30).filter(|time| complaints.tell(level, ["a", "b", "c"][time % 3]).is_some());
            told.count()
        };
        assert_eq!(told(&mut complaints, Level::Info), 3);
        assert_eq!(told(&mut complaints, Level::Warn), 3);
        assert_eq!(told(&mut complaints, Level::Info), 0);
        assert_eq!(complaints.end(), Some(Level::Warn));
        assert_eq!(complaints.end(), None);
        assert_eq!(told(&mut complaints, Level::Info), 3);
    }

    #[test]
    fn texts_that_never_end_are_told_until_people_know_enough() {
        let mut complaints = Complaints::none();
        for level in [Level::Info, Level::Warn] {
            let told: Vec<_> =
                (0..99).filter_map(|time| complaints.tell(level, &format!("{time}"))).collect();
            assert_eq!(told.len(), MOST);
            assert_eq!(told.iter().filter(|more| **more == NO_MORE).count(), 1);
        }
        assert!(complaints.0.len() <= MOST * 2);
    }
}
