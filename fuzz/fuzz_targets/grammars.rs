//! Feeds the fuzzer's bytes to the target `grammars`; see `tidegate_fuzz::targets`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| tidegate_fuzz::grammars::grammars(data));

#[cfg(not(fuzzing))]
fn main() {}
