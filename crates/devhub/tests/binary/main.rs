//! The `devhub` program from outside: flags, files, signals, and the real kubectl.

mod rig;
mod start;
