//! The `tidegate` binary: everything it does is in `cli`.

fn main() {}
