//! The `devhub` program from outside: flags, files, signals, and the real kubectl.

mod data;
mod rig;
mod rights;
mod start;
