//! Targets for fuzzing: code that parses untrusted bytes must accept any bytes.

pub mod amplification;
pub mod grammars;
pub mod hub;
pub mod merge;
pub mod mutate;
pub mod policies;
pub mod targets;
