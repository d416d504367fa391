//! The field room.
