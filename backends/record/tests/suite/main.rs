//! Tests of the adapter on documents in memory, which a test can change at will.

mod by_hand;
mod chaos;
mod crowd;
mod documents;
mod far;
mod folder;
mod late;
