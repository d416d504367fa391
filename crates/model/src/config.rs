//! References to configuration objects: a type (group and resource) and a name.
//!
//! Decides when a reference is complete and written with the plural resource name. Never decides whether an add-on
//! supports the type, nor whether the object exists.

use std::fmt;

use super::rule;
use api::names::RESERVED_NO_DEFAULT;
use kubernetes::field::{Class, Fault, Path, Violation, quoted};

/// The type of a configuration: API group and plural resource name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigType {
    group: String,
    resource: String,
}

impl ConfigType {
    /// Reads a type; the resource must be a plural name, which is never empty and never upper case.
    pub fn parse(group: &str, resource: &str) -> Result<Self, Fault> {
        if let Some(fault) = kind_not_plural(group, resource) {
            return Err(fault);
        }
        if resource.is_empty() {
            return Err(Fault::bare(
                Class::Required,
                "must be the plural name of a resource",
            ));
        }
        Ok(Self {
            group: group.to_owned(),
            resource: resource.to_owned(),
        })
    }

    /// Returns the API group; empty for the core group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Returns the plural resource name.
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// Returns where objects of this type live, if that is known.
    pub fn scope(&self) -> Option<Scope> {
        known(&self.group, &self.resource).map(|known| known.scope)
    }
}

impl fmt::Display for ConfigType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group.as_str() {
            "" => f.write_str(&self.resource),
            group => write!(f, "{}.{group}", self.resource),
        }
    }
}

/// Where the objects of a type live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In the cluster.
    Cluster,
    /// In a namespace.
    Namespaced,
}

/// A configuration type that every hub has.
#[derive(Clone, Copy, Debug)]
pub struct KnownType {
    /// API group.
    pub group: &'static str,
    /// Kind, as in manifests.
    pub kind: &'static str,
    /// Plural resource name, as in references.
    pub resource: &'static str,
    /// Where its objects live.
    pub scope: Scope,
}

const ADDON_GROUP: &str = "addon.open-cluster-management.io";

/// The configuration types that every hub has.
pub const KNOWN_TYPES: [KnownType; 5] = [
    KnownType {
        group: ADDON_GROUP,
        kind: "AddOnDeploymentConfig",
        resource: "addondeploymentconfigs",
        scope: Scope::Namespaced,
    },
    KnownType {
        group: ADDON_GROUP,
        kind: "AddOnTemplate",
        resource: "addontemplates",
        scope: Scope::Cluster,
    },
    KnownType {
        group: ADDON_GROUP,
        kind: "AddOnHubConfig",
        resource: "addonhubconfigs",
        scope: Scope::Cluster,
    },
    KnownType {
        group: "",
        kind: "ConfigMap",
        resource: "configmaps",
        scope: Scope::Namespaced,
    },
    KnownType {
        group: "",
        kind: "Secret",
        resource: "secrets",
        scope: Scope::Namespaced,
    },
];

fn known(group: &str, resource: &str) -> Option<&'static KnownType> {
    KNOWN_TYPES
        .iter()
        .find(|known| known.group == group && known.resource == resource)
}

/// Returns the fault of a resource that is written as a kind or in the singular.
///
/// Every API group knows its resources by lower-case plural names, so an upper-case letter is always wrong; a
/// lower-case singular is known to be wrong for the types that every hub has.
fn kind_not_plural(group: &str, resource: &str) -> Option<Fault> {
    let known = KNOWN_TYPES
        .iter()
        .find(|known| known.group == group && resource != known.resource && names_kind(resource, known.kind));
    let upper = resource.chars().any(char::is_uppercase);
    if known.is_none() && !upper {
        return None;
    }
    let meant = known.map_or_else(|| plural_of(resource), |known| Some(known.resource.to_owned()));
    let detail = "must be the plural, lower-case name of a resource";
    let hint = meant.map(|meant| format!("did you mean {}?", quoted(&meant)));
    Some(Fault::of_text(Class::Invalid, resource, detail).hint_if(hint))
}

fn names_kind(resource: &str, kind: &str) -> bool {
    resource.eq_ignore_ascii_case(kind)
        || resource
            .strip_suffix('s')
            .is_some_and(|singular| singular.eq_ignore_ascii_case(kind))
}

// The rule that Kubernetes itself uses to guess a resource from a kind.
fn plural_of(kind: &str) -> Option<String> {
    if kind.len() > 253 || !kind.chars().all(|letter| letter.is_ascii_alphanumeric()) {
        return None;
    }
    let lower = kind.to_lowercase();
    Some(match (lower.strip_suffix('y'), lower.ends_with('s')) {
        (Some(stem), _) => format!("{stem}ies"),
        (None, true) => lower,
        (None, false) => format!("{lower}s"),
    })
}

/// The texts of a reference, as a document has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawReference<'a> {
    /// API group; absent means the core group.
    pub group: Option<&'a str>,
    /// Plural resource name.
    pub resource: Option<&'a str>,
    /// Namespace of the object; absent for cluster-scoped types.
    pub namespace: Option<&'a str>,
    /// Name of the object.
    pub name: Option<&'a str>,
}

/// A reference to one configuration object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigReference {
    config: ConfigType,
    namespace: Option<String>,
    name: String,
}

impl ConfigReference {
    /// Reads the reference that stands at `path`.
    pub fn parse(raw: RawReference<'_>, path: &Path) -> Result<Self, Vec<Violation>> {
        let config = ConfigType::parse(raw.group.unwrap_or_default(), raw.resource.unwrap_or_default());
        let name = raw.name.filter(|name| !name.is_empty());
        let mut violations = Vec::new();
        if name.is_none() {
            let fault = Fault::bare(Class::Required, "must name the configuration object");
            violations.push(fault.at(path.key("name"), rule::INCOMPLETE_REFERENCE));
        }
        match (config, name) {
            (Ok(config), Some(name)) => {
                let namespace = raw
                    .namespace
                    .filter(|namespace| !namespace.is_empty())
                    .map(str::to_owned);
                return Ok(Self {
                    config,
                    namespace,
                    name: name.to_owned(),
                });
            }
            (Err(fault), _) => {
                let rule = match fault.class() {
                    Class::Required => rule::INCOMPLETE_REFERENCE,
                    Class::Invalid
                    | Class::TypeInvalid
                    | Class::NotSupported
                    | Class::Duplicate
                    | Class::Forbidden
                    | Class::NotFound
                    | Class::TooLong
                    | Class::TooMany
                    | Class::Internal => rule::KIND_NOT_PLURAL,
                };
                violations.push(fault.at(path.key("resource"), rule));
            }
            (Ok(_), None) => {}
        }
        Err(violations)
    }

    /// Reads a reference without telling its faults; one that cannot be read is none.
    pub fn read(raw: RawReference<'_>) -> Option<Self> {
        Self::parse(raw, &Path::root()).ok()
    }

    /// Returns the type of the configuration.
    pub fn config(&self) -> &ConfigType {
        &self.config
    }

    /// Returns the namespace of the object, if one is given.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns the name of the object.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tells whether a type that lives in namespaces is referenced without one. The name that stands for no object needs none.
    pub fn lacks_namespace(&self) -> bool {
        self.namespace.is_none()
            && self.config.scope() == Some(Scope::Namespaced)
            && self.name != RESERVED_NO_DEFAULT
    }
}

impl fmt::Display for ConfigReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.config, self.name),
            None => write!(f, "{} {}", self.config, self.name),
        }
    }
}

/// Returns every entry of an annotation that lists types as `<resource>.<group>`, separated by commas, with the type that it is
/// or what is wrong with it.
pub fn listed_types(text: &str) -> impl Iterator<Item = (&str, Result<ConfigType, Fault>)> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries.map(|entry| {
        let (resource, group) = entry.split_once('.').unwrap_or((entry, ""));
        (entry, ConfigType::parse(group, resource))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_separated_by_commas_and_kinds_are_no_types() {
        let read = listed_types(" addonhubconfigs.g.io ,, configmaps, AddOnTemplate.g.io");
        let told: Vec<String> = read
            .map(|(entry, of)| of.map_or_else(|_| format!("{entry} is no type"), |of| of.to_string()))
            .collect();
        assert_eq!(
            told,
            [
                "addonhubconfigs.g.io",
                "configmaps",
                "AddOnTemplate.g.io is no type"
            ]
        );
    }

    fn refused(group: &str, resource: &str) -> String {
        ConfigType::parse(group, resource)
            .expect_err(resource)
            .at(Path::parse("resource"), rule::KIND_NOT_PLURAL)
            .to_string()
    }

    #[test]
    fn kinds_and_singulars_are_refused_with_the_plural() {
        for (group, resource, meant) in [
            (ADDON_GROUP, "AddOnDeploymentConfig", "addondeploymentconfigs"),
            (ADDON_GROUP, "addondeploymentconfig", "addondeploymentconfigs"),
            (ADDON_GROUP, "AddOnDeploymentConfigs", "addondeploymentconfigs"),
            ("", "ConfigMap", "configmaps"),
            ("example.com", "ProxyPolicy", "proxypolicies"),
        ] {
            let text = refused(group, resource);
            assert!(text.contains(&format!("did you mean \"{meant}\"?")), "{text}");
        }
    }

    #[test]
    fn an_unusual_plural_in_another_group_is_accepted() {
        for (group, resource) in [
            ("example.com", "addondeploymentconfig"),
            ("example.com", "data"),
            (ADDON_GROUP, "addontemplates"),
        ] {
            assert!(ConfigType::parse(group, resource).is_ok(), "{resource}");
        }
    }

    #[test]
    fn an_incomplete_reference_tells_everything_it_lacks() {
        let violations = ConfigReference::parse(RawReference::default(), &Path::parse("spec.configs[0]"))
            .expect_err("nothing is given");
        let text: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "spec.configs[0].name: Required value: must name the configuration object [config/incomplete-reference]",
                "spec.configs[0].resource: Required value: must be the plural name of a resource [config/incomplete-reference]",
            ]
        );
    }

    #[test]
    fn only_namespaced_types_lack_a_namespace() {
        let raw = |resource| RawReference {
            group: Some(ADDON_GROUP),
            resource: Some(resource),
            namespace: None,
            name: Some("x"),
        };
        let lacks = |resource| {
            ConfigReference::parse(raw(resource), &Path::root()).map(|reference| reference.lacks_namespace())
        };
        assert_eq!(lacks("addondeploymentconfigs"), Ok(true));
        assert_eq!(lacks("addonhubconfigs"), Ok(false));
        assert_eq!(lacks("somethings"), Ok(false));
    }
}
