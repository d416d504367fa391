//! The checker of plans of add-ons. Decides nothing about add-ons.

mod approval;
mod beside;
mod grants;
mod kept;
mod pace;
mod pinned;
mod removals;
mod rolling;
mod standing;
mod unchanged;
mod undone;
mod writes;

pub use writes::check;
