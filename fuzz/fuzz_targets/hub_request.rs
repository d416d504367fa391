//! Feeds the fuzzer's bytes to the target `hub_request`; see `tidegate_fuzz::hub`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| tidegate_fuzz::hub::request(data));

#[cfg(not(fuzzing))]
fn main() {}
