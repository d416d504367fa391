//! Targets for fuzzing: what takes bytes from outside must take any bytes.

pub mod amplification;
pub mod grammars;
pub mod hub;
pub mod merge;
pub mod mutate;
pub mod policies;
pub mod targets;
