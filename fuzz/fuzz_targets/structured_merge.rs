//! Feeds the fuzzer's bytes to the target `structured_merge`; see `tidegate_fuzz::merge`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| tidegate_fuzz::merge::program(data));

#[cfg(not(fuzzing))]
fn main() {}
