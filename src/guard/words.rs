//! Words as `execve` wants them: one after the other in one piece of memory, each with a NUL at its end.
//!
//! The guardian is forked with them, and whoever forked it lets go of them: a piece of memory for each word would
//! be touched once more, and copied, for nothing.

use std::io;
use std::ops::Range;

/// Words that each end with a NUL.
#[derive(Default)]
pub(super) struct Words {
    bytes: Vec<u8>,
    /// Where each begins.
    starts: Vec<usize>,
}

impl Words {
    /// A word that is made of these parts.
    ///
    /// # Errors
    /// When it has a NUL in it, which no program can be given.
    pub(super) fn push(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let start = self.bytes.len();
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        let word = &self.bytes[start..];
        if word.contains(&0) {
            let what = format!("\"{}\" has a NUL in it", word.escape_ascii());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        self.bytes.push(0);
        self.starts.push(start);
        Ok(())
    }

    /// A word with room for `room` bytes more. Returns where that room is.
    pub(super) fn push_with_room(&mut self, word: &[u8], room: usize) -> Range<usize> {
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(word);
        let start = self.bytes.len();
        self.bytes.resize(start + room + 1, 0);
        start..start + room
    }

    /// Writes into the room of a word, without allocating. What has no room is cut off.
    pub(super) fn fill(&mut self, room: Range<usize>, value: &[u8]) {
        let room = &mut self.bytes[room.start..=room.end];
        let length = value.len().min(room.len() - 1);
        room[..length].copy_from_slice(&value[..length]);
        room[length] = 0;
    }

    /// Where each word is. That holds as long as no word is added.
    pub(super) fn pointers(&self) -> impl Iterator<Item = *const libc::c_char> {
        self.starts.iter().map(|&start| self.bytes[start..].as_ptr().cast())
    }

    /// Each up to its NUL.
    #[cfg(test)]
    pub(super) fn texts(&self) -> Vec<&str> {
        let word = |&start: &usize| {
            let word = self.bytes[start..].split(|&byte| byte == 0).next().expect("terminated");
            std::str::from_utf8(word).expect("UTF-8")
        };
        self.starts.iter().map(word).collect()
    }
}
