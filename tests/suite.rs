//! Everything that is tested inside one process: values, properties, the simulator, controllers on the dev hub.
//!
//! One program, because each takes longer to link than to run. A module is a subject: `cargo test --workspace --test suite plan_scripts::` runs
//! one. What starts the real binary and talks to it with `kubectl` is in `blackbox`.

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

mod approvals_checked;
mod architecture;
mod audit_events;
mod audit_footprint;
mod audit_on_hub;
mod backstop;
mod bypass;
mod certificates_on_hub;
mod check_metadata;
mod clocks;
mod cockpit;
mod configs_on_hub;
mod convergence;
mod crd_structural;
mod crd_superset;
mod default_namespace_on_hub;
mod definitions_added;
mod differences;
mod editor_schemas;
mod effort;
mod embedded_on_hub;
mod endings_on_hub;
mod enforcement;
mod events_on_hub;
mod fleet_faults;
mod forced;
mod forecast;
mod four_doors;
mod generated;
mod health;
mod identity_on_hub;
mod identity_properties;
mod install_kit;
mod kstatus;
mod kstatus_on_hub;
mod labels_on_hub;
mod leaders_on_hub;
mod linear_reading;
mod manifests_fit;
mod modes_on_hub;
mod monitoring;
mod mutations;
mod namespace_facts;
mod neighbours;
mod never_drift;
mod older_definitions_on_hub;
mod plan_memo;
mod plan_properties;
mod plan_scripts;
mod policies;
mod policies_among_files;
mod policies_in_the_gate;
mod policies_on_hub;
mod promises;
mod properties_admission;
mod real_assets;
mod registration_on_hub;
mod removals;
mod rendered_works;
mod rest_on_hub;
mod rights_on_hub;
mod rule_pages;
mod seeds_admission;
mod skips;
mod take_over;
mod testkit;
mod tide_on_hub;
mod time;
mod tools_agree;
mod troubleshoot;
mod undo_on_hub;
mod upgrade_access;
mod upgrade_approver;
mod upgrade_definition;
mod upgrade_page;
mod upgrades_on_hub;
mod upstream_policies;
mod webhooks_unavailable;
mod whole_status;
mod why;
mod words;
