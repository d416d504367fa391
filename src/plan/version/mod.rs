//! Versions: which one an instance asks for, which template stands for it, and what its status remembers.
//!
//! A table of contents; the decision is told in `docs/versions.md`.

mod asked;
mod choice;
mod direction;
mod record;

pub(super) use asked::{asked, follow, given};
pub(super) use choice::{BadVersion, Pick, Shelf};
pub(super) use direction::goes_down;
pub(super) use record::{Memory, carried_version, invalid, memory, moving_to, refusal};

#[cfg(test)]
mod tests {
    use crate::snapshot::{Instance, Meta};

    /// An instance that says nothing.
    pub(super) fn instance() -> Instance {
        Instance {
            meta: Meta {
                uid: "u".into(),
                version: "1".into(),
                generation: 1,
                deleting: false,
            },
            addon: "hello".into(),
            cluster: "c1".into(),
            owners: Vec::new(),
            farewell: crate::snapshot::Farewell::default(),
            installed_by: "".into(),
            deselected_at: None,
            annotations: crate::snapshot::Pairs::default(),
            copied: "".into(),
            hosting_cluster: "".into(),
            install_namespace: "".into(),
            configs: Vec::new(),
            health_mode: "".into(),
            desired_version: "".into(),
            given_version: "".into(),
            current_version: "".into(),
            last_version: "".into(),
            supported: Vec::new(),
            references: Vec::new(),
            conditions: Vec::new(),
        }
    }
}
