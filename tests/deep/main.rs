//! Tests of the program.
