//! What the registration agent of a cluster says about an add-on whose health is read from a Lease: here every agent renews its
//! Lease, unless a fault holds it down.

use crate::{
    fault::Effects,
    wire::{Condition, ManagedClusterAddOn, Truth},
};

/// Who reports the health of an add-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reporter {
    /// The agent of its cluster, which looks at the Lease.
    Agent,
    /// It is not said yet; then it is the agent, unless the add-on's manager says something else soon.
    Undecided,
    /// The hub.
    Hub,
}

/// Returns who reports the health of the add-on. A manager that deploys from templates is about to say that it does.
pub(crate) fn reporter(addon: &ManagedClusterAddOn) -> Reporter {
    let status = &addon.status;
    let mut types = status.config_references.iter().chain(&status.supported_configs);
    match status.health_check.mode.as_str() {
        "Lease" => Reporter::Agent,
        "" if !types.any(|of| of.resource == "addontemplates") => Reporter::Undecided,
        _ => Reporter::Hub,
    }
}

/// Returns the condition `Available`, without a time.
pub(crate) fn available(addon: &str, effects: &Effects) -> Condition {
    let condition = |truth, reason, message| Condition::new("Available", truth, reason, message);
    if effects.any_apply_failure() {
        return condition(
            Truth::Unknown,
            "ManagedClusterAddOnLeaseNotFound",
            format!("The status of {addon} add-on is unknown."),
        );
    }
    if effects.any_unavailable() {
        return condition(
            Truth::False,
            "ManagedClusterAddOnLeaseUpdateStopped",
            format!("{addon} add-on is not available."),
        );
    }
    condition(
        Truth::True,
        "ManagedClusterAddOnLeaseUpdated",
        format!("{addon} add-on is available."),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        fault::{ActiveFaults, Faults},
        wire::{AddOnStatus, ConfigType, HealthCheck},
    };

    #[test]
    fn the_mode_says_who_reports_and_templates_are_the_hubs() {
        for (mode, resource, expected) in [
            ("Lease", "addontemplates", Reporter::Agent),
            ("Customized", "", Reporter::Hub),
            ("", "addondeploymentconfigs", Reporter::Undecided),
            ("", "addontemplates", Reporter::Hub),
        ] {
            let addon = ManagedClusterAddOn {
                status: AddOnStatus {
                    health_check: HealthCheck {
                        mode: mode.to_owned(),
                    },
                    supported_configs: vec![ConfigType {
                        resource: resource.to_owned(),
                    }],
                    ..AddOnStatus::default()
                },
                ..ManagedClusterAddOn::default()
            };
            assert_eq!(reporter(&addon), expected, "{mode} {resource}");
        }
    }

    #[test]
    fn the_words_are_those_of_the_lease() {
        for (fault, words) in [
            (
                "other=offline",
                "ManagedClusterAddOnLeaseUpdated: hello add-on is available.",
            ),
            (
                "c1=unavailable",
                "ManagedClusterAddOnLeaseUpdateStopped: hello add-on is not available.",
            ),
            (
                "c1=apply-failure",
                "ManagedClusterAddOnLeaseNotFound: The status of hello add-on is unknown.",
            ),
        ] {
            let mut active_faults = ActiveFaults::new(&Faults::parse([fault]).expect("a fault"));
            let effects = active_faults.effects("c1", "addon-hello-deploy-0", 1, Duration::ZERO);
            let said = available("hello", &effects);
            assert_eq!(format!("{}: {}", said.reason, said.message), words, "{fault}");
        }
    }
}
