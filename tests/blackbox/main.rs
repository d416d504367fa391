//! The program as a user meets it: the real binary, the real `kubectl`, real TLS.
//!
//! Decides whether the main job works end to end. Never looks inside the program.

mod admission;
mod audit;
mod command_line;
mod dumps;
mod enforcement;
mod gitops;
mod kill;
mod main_job;
mod namespaces;
mod rig;
mod robust;
mod seeds;
mod serve;
mod server_side;
mod tools;
