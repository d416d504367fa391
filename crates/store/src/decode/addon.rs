//! Decoding `ClusterManagementAddOn`.
//!
//! Decides how its many spellings become one record. Never judges a strategy: what is invalid is kept with its fault.

use crate::decode::read::{annotation, config_type, configs, meta, shared};
use crate::decode::rollout::{configuration_rollout, rollout};
use crate::decode::status::{applied, conditions};
use crate::facts::AddonFacts;
use crate::names::Names;
use crate::record::rollout::{Progression, ProgressionReference};
use crate::record::{AddOn, ConfigRef, Creation, DefaultConfig, InstallStrategy, Lifecycle, PlacementUse};
use crate::terms;
use api::ConfigSpecHash;
use api::names::annotations::{LIFECYCLE, LIFECYCLE_ADDON_MANAGER, LIFECYCLE_TIDEGATE};
use api::v1alpha1 as wire;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubernetes::field::Path;
use model::{Name, parse_selector};

pub(crate) fn addon(object: &wire::ClusterManagementAddOn, names: &mut Names) -> Result<AddOn, String> {
    let spec = &object.spec;
    let lifecycle = lifecycle(annotation(&object.metadata, LIFECYCLE), names);
    let configuration = spec.configuration.as_ref();
    let strategy = spec.install_strategy.as_ref();
    let placements = strategy.into_iter().flat_map(|strategy| &strategy.placements);
    let status = object.status.as_ref();
    Ok(AddOn {
        meta: meta(&object.metadata)?,
        name: shared(object.metadata.name.as_ref(), names),
        // What an empty annotation means is the operator's choice, which the store knows.
        managed: lifecycle == Lifecycle::Managed,
        lifecycle,
        supported: spec
            .supported_configs
            .iter()
            .map(|supported| default_config(supported, names))
            .collect(),
        configuration: configuration
            .map(|found| configs(&found.configs, names))
            .unwrap_or_default(),
        configuration_rollout: configuration_rollout(
            configuration.and_then(|configuration| configuration.rollout_strategy.as_ref()),
        ),
        outdated: outdated(&object.metadata, names),
        removals_until: annotation(&object.metadata, terms::REMOVALS_ALLOWED_UNTIL)
            .and_then(|text| text.trim().parse().ok()),
        strategy: install_strategy(strategy, names),
        placements: placements
            .enumerate()
            .map(|(index, placement)| placement_use(placement, index, names))
            .collect(),
        observed: status.and_then(|status| status.observed_generation),
        defaults: status.map(|status| defaults(status, names)).unwrap_or_default(),
        progressions: status.map(|status| {
            status
                .install_progressions
                .iter()
                .map(|progression| decode_progression(progression, names))
                .collect()
        }),
        conditions: status
            .map(|status| conditions(&status.conditions, names))
            .unwrap_or_default(),
        supported_versions: status
            .into_iter()
            .flat_map(|status| &status.supported_versions)
            .map(|text| names.share(text))
            .collect(),
        default_version: shared(status.map(|status| &status.default_version), names),
        facts: std::sync::Arc::new(facts(object)),
    })
}

fn facts(object: &wire::ClusterManagementAddOn) -> AddonFacts {
    let says = |key| annotation(&object.metadata, key).map(String::as_str);
    let facts = AddonFacts::of(&object.spec)
        .protecting(says(terms::PROTECTED_CONFIGS))
        .merging(says(terms::MERGED_CONFIGS));
    AddonFacts {
        deleting: object.metadata.deletion_timestamp.is_some(),
        ..facts
    }
}

/// Returns which annotations have to be replaced. Without this fault, a pause in such an annotation would end.
fn outdated(meta: &ObjectMeta, names: &mut Names) -> Option<Name> {
    let mut found = terms::REPLACED
        .iter()
        .filter(|one| annotation(meta, one.annotation).is_some());
    found.next().map(|one| names.share(&one.told()))
}

fn lifecycle(annotation: Option<&String>, names: &mut Names) -> Lifecycle {
    match annotation.map(String::as_str) {
        None | Some(LIFECYCLE_ADDON_MANAGER) => Lifecycle::Managed,
        Some(LIFECYCLE_TIDEGATE) => Lifecycle::Tidegate,
        Some("") => Lifecycle::Empty,
        Some(other) => Lifecycle::Own(names.share(other)),
    }
}

fn install_strategy(strategy: Option<&wire::InstallStrategy>, names: &mut Names) -> InstallStrategy {
    let Some(strategy) = strategy else {
        return InstallStrategy::Manual;
    };
    match strategy.type_.as_str() {
        "" | "Manual" => InstallStrategy::Manual,
        "Placements" => InstallStrategy::Placements,
        "ClusterLabelSelector" => {
            let path = Path::root().key("labelSelector");
            let selector = strategy.label_selector.as_ref();
            match selector.map(|raw| parse_selector(raw, &path)).transpose() {
                Ok(selector) => InstallStrategy::Labels(selector),
                Err(faults) => {
                    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                    InstallStrategy::BadLabels(names.share(&faults.join("; ")))
                }
            }
        }
        other => InstallStrategy::Other(names.share(other)),
    }
}

fn default_config(supported: &wire::ConfigMeta, names: &mut Names) -> DefaultConfig {
    let of = config_type(&supported.group, &supported.resource, names);
    let config = supported
        .default_config
        .as_ref()
        .filter(|config| !config.name.is_empty());
    DefaultConfig {
        config: config.map(|config| ConfigRef {
            of: of.clone(),
            namespace: names.share(&config.namespace),
            name: names.share(&config.name),
        }),
        of,
    }
}

fn placement_use(placement: &wire::PlacementStrategy, index: usize, names: &mut Names) -> PlacementUse {
    let template = placement
        .addon_spec
        .as_ref()
        .or(placement.addon_template.as_ref());
    PlacementUse {
        namespace: names.share(&placement.namespace),
        name: names.share(&placement.name),
        configs: configs(&placement.configs, names),
        rollout: rollout(placement.rollout_strategy.as_ref(), index),
        creation: template
            .map(|template| creation(template, names))
            .unwrap_or_default(),
    }
}

fn creation(template: &wire::CreationTemplate, names: &mut Names) -> Creation {
    Creation {
        install_namespace: template.install_namespace.as_ref().map(|text| names.share(text)),
        configs: configs(&template.configs, names),
        desired_version: Some(&template.desired_version)
            .filter(|text| !text.is_empty())
            .map(|text| names.share(text)),
    }
}

fn defaults(status: &wire::ClusterManagementAddOnStatus, names: &mut Names) -> Vec<(ConfigRef, Name)> {
    let listed = status.default_config_references.iter();
    let each =
        listed.filter_map(|one| referred(&one.group, &one.resource, one.desired_config.as_ref(), names));
    each.collect()
}

fn referred(
    group: &str,
    resource: &str,
    desired: Option<&ConfigSpecHash>,
    names: &mut Names,
) -> Option<(ConfigRef, Name)> {
    let desired = desired?;
    let config = ConfigRef {
        of: config_type(group, resource, names),
        namespace: names.share(&desired.namespace),
        name: names.share(&desired.name),
    };
    Some((config, names.share(&desired.spec_hash)))
}

fn decode_progression(progression: &wire::InstallProgression, names: &mut Names) -> Progression {
    let references = progression.config_references.iter().filter_map(|one| {
        let (config, desired) = referred(&one.group, &one.resource, one.desired_config.as_ref(), names)?;
        Some(ProgressionReference {
            config,
            desired,
            applied: applied(one.last_applied_config.as_ref(), names),
            known_good: applied(one.last_known_good_config.as_ref(), names),
        })
    });
    Progression {
        namespace: Name::from(progression.namespace.as_str()),
        name: Name::from(progression.name.as_str()),
        references: references.collect(),
        conditions: conditions(&progression.conditions, names),
    }
}
