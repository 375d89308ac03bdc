//! The conformance suite that every elect store passes, and what tests of elect share.
