//! Feeds the fuzzer's bytes to the target `amplification`; see `tidegate_fuzz::amplification`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| tidegate_fuzz::amplification::amplification(data));

#[cfg(not(fuzzing))]
fn main() {}
