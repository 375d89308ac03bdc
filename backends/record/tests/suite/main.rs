//! The adapter on documents in memory, to which a test may do anything.

mod by_hand;
mod chaos;
mod crowd;
mod documents;
mod far;
mod folder;
mod late;
