//! `--restart`: a command that has ended is started again, under the same leadership.

mod inherited;
mod leadership;
mod manual;
mod pauses;
mod tiers;
