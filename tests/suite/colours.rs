//! Colours.
