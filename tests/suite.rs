//! Everything that is tested inside one process: values, properties, the simulator, controllers on the dev hub.
//!
//! One program, because each takes longer to link than to run. A module is a subject: `cargo test --workspace --test suite -- plan_scripts::` runs
//! one. What starts the real binary and talks to it with `kubectl` is in `binary`.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test reads files and clocks, and may panic"
)]
#![expect(
    clippy::self_named_module_files,
    reason = "a subject stands beside the folder of its parts; a `mod.rs` is a table of contents"
)]

/// What needs neither a hub nor a socket.
mod pure {
    mod approvals_checked;
    mod architecture;
    mod audit_footprint;
    pub(super) mod backstop;
    mod check_metadata;
    mod clocks;
    mod cockpit;
    mod convergence;
    mod crd_structural;
    mod crd_superset;
    mod definitions_added;
    mod differences;
    mod editor_schemas;
    mod effort;
    mod enforcement;
    mod forecast;
    mod four_ways;
    mod generated;
    pub(super) mod health;
    mod identity_properties;
    pub(super) mod install_kit;
    pub(super) mod kstatus;
    mod linear_reading;
    mod manifests_fit;
    mod monitoring;
    mod mutations;
    mod namespace_facts;
    mod neighbours;
    mod notifications;
    mod plain_words;
    mod plan_memo;
    mod plan_properties;
    mod plan_scripts;
    mod policies;
    mod policies_among_files;
    mod policies_in_the_gate;
    mod promises;
    mod properties_admission;
    mod rbac_manifests;
    mod real_assets;
    mod real_hub;
    mod reference_pages;
    mod regions;
    mod removals;
    mod rendered_works;
    mod rule_pages;
    mod seeds_admission;
    mod set_by;
    mod skips;
    mod take_over;
    mod time;
    mod tools_agree;
    mod troubleshoot;
    mod upgrade_access;
    mod upgrade_approver;
    mod upgrade_definition;
    mod upgrade_page;
    mod upstream_policies;
    mod whole_status;
    mod why;
    mod words;
}

/// The controllers and the webhook on a hub.
mod hub {
    mod audit;
    mod audit_events;
    mod bypass;
    mod certificates;
    mod configs;
    mod default_namespace;
    mod embedded;
    mod endings;
    mod events;
    mod fleet_faults;
    mod forced;
    mod identity;
    mod kstatus;
    mod labels;
    mod leaders;
    mod modes;
    mod never_drift;
    mod notifications;
    mod older_definitions;
    mod policies;
    mod registration;
    mod rest;
    mod rights;
    mod tide;
    mod undo;
    mod upgrades;
    mod webhooks_unavailable;
}

mod kit;
