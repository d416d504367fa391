//! The extent of tests that search: simulators, properties over many seeds, every fault of every kind.
//!
//! `cargo test` runs a part that takes seconds. `TIDEGATE_TESTS=full` runs all of it, as continuous integration does.

/// Whether everything is tried.
pub(crate) fn is_full() -> bool {
    std::env::var("TIDEGATE_TESTS").is_ok_and(|value| value == "full")
}

/// Returns how much to try: the first number usually, the second one in a full run.
pub(crate) fn amount<N>(usual: N, full: N) -> N {
    if is_full() { full } else { usual }
}
