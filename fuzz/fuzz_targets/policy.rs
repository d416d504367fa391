//! Feeds the fuzzer's bytes to the target `policy`; see `tidegate_fuzz::policies`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| tidegate_fuzz::policies::policy(data));

#[cfg(not(fuzzing))]
fn main() {}
