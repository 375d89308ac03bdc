//! `--restart`: a command that has ended is started again, under the same leadership.

mod inherited;
mod leadership;
mod pauses;
mod readme;
mod tiers;
