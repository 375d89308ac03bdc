#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| elect::fuzzing::check("redis-url", bytes));
