//! Which template stands for the version of an instance.
//!
//! Decides with the precedence explicit template reference > version of the instance > `AddOnHubConfig` > default. The
//! template that is chosen becomes an ordinary reference, so that pinning, roll-out, works and hashes need not know about
//! versions. Never makes a template add-on of one that another program deploys.

use crate::config::{is_template, type_of};
use crate::work::is_deploy_work;
use store::{ConfigRef, Instance, Kind, Name, Versions, View};

/// Most versions that a message lists: the highest ones.
const MOST_TOLD: usize = 10;

/// A version that is asked for and that no template offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadVersion {
    /// What is asked for.
    pub asked: Name,
    /// What could be asked for, as a phrase.
    pub supported: Name,
}

impl BadVersion {
    /// Returns the reference that stands for the version in the status.
    pub(crate) fn reference(&self) -> ConfigRef {
        ConfigRef {
            of: type_of(Kind::Template),
            namespace: Name::from(""),
            name: self.asked.clone(),
        }
    }
}

impl std::fmt::Display for BadVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "no AddOnTemplate offers version {}; {}",
            self.asked, self.supported
        )
    }
}

/// The versions of an add-on, ready to be chosen from.
#[derive(Debug)]
pub(crate) struct OfferedVersions {
    /// What the templates offer.
    pub versions: Versions,
    /// Whether the author lists the type `addontemplates`: then there is no doubt about who deploys.
    listed: bool,
}

impl OfferedVersions {
    pub(crate) fn of(view: &View<'_>, listed: bool) -> Self {
        let versions = view.versions();
        let is_of_others = !listed && !versions.is_empty() && is_deployed_by_others(view);
        Self {
            versions: if is_of_others {
                Versions::default()
            } else {
                versions
            },
            listed,
        }
    }

    /// Returns the template that stands for the version, among the configurations `list` that are there without it.
    pub(crate) fn pick(&self, view: &View<'_>, list: &[&ConfigRef], asked: &str) -> Pick {
        if list.iter().any(|config| is_template(&config.of)) {
            return Pick::Nothing;
        }
        let asked = Some(asked)
            .filter(|asked| !asked.is_empty())
            .or_else(|| of_hub_config(view, list).map(|version| &**version));
        match asked {
            None => self
                .versions
                .preset()
                .map_or(Pick::Nothing, |offer| Pick::Template(offer.template.clone())),
            Some(_) if self.versions.is_empty() && !self.listed => Pick::Nothing,
            Some(asked) => match self.versions.find(asked) {
                Some(offer) => Pick::Template(offer.template.clone()),
                None => Pick::Bad(BadVersion {
                    asked: asked.into(),
                    supported: self.phrase().into(),
                }),
            },
        }
    }

    /// Returns the version that a fresh install gets from these configurations, "" for one that has none or is not there.
    pub(crate) fn preset(&self, view: &View<'_>, list: &[&ConfigRef]) -> Name {
        let named = list.iter().find(|config| is_template(&config.of)).copied();
        let chosen = match self.pick(view, list, "") {
            Pick::Template(template) => Some(template),
            Pick::Nothing => named.cloned(),
            Pick::Bad(_) => None,
        };
        let version = chosen.and_then(|template| view.config(&template)?.readable_version().cloned());
        version.unwrap_or_else(|| Name::from(""))
    }

    /// Returns whether another program deploys the add-on on this cluster, so that its versions do not concern it.
    pub(crate) fn leaves_alone(&self, view: &View<'_>, instance: &Instance) -> bool {
        !self.listed && !self.versions.is_empty() && deployer(view, instance) == Deployer::Other
    }

    /// Returns whether any instance may run a version that no template has any more.
    pub(crate) fn may_have_orphans(&self) -> bool {
        self.versions.is_empty() && !self.listed
    }

    /// Returns the version that an instance runs although no template of its add-on has a version any more. Its works stay
    /// ours: letting go of them would leave an agent that no program looks after.
    pub(crate) fn orphan(&self, list: &[&ConfigRef], instance: &Instance) -> Option<BadVersion> {
        let is_ours = !instance.current_version.is_empty()
            && instance.references.iter().any(|one| is_template(&one.config.of));
        let gone = self.may_have_orphans() && !list.iter().any(|config| is_template(&config.of));
        (gone && is_ours).then(|| BadVersion {
            asked: instance.current_version.clone(),
            supported: self.phrase().into(),
        })
    }

    fn phrase(&self) -> String {
        let mut told: Vec<&str> = self.versions.supported().map(store::Offer::text).collect();
        let all = told.len();
        let told = told.split_off(all.saturating_sub(MOST_TOLD));
        match (told.len(), all) {
            (0, _) => "no version is supported".to_owned(),
            (some, all) if some < all => {
                format!("the highest of {all} supported versions: {}", told.join(", "))
            }
            (_, _) => format!("supported versions: {}", told.join(", ")),
        }
    }
}

/// What a version adds to the configurations.
#[derive(Debug)]
pub(crate) enum Pick {
    /// Nothing: another reference to a template is there, or there are no versions.
    Nothing,
    /// This template.
    Template(ConfigRef),
    /// A version that no template offers.
    Bad(BadVersion),
}

/// The first `AddOnHubConfig` that names a version counts.
fn of_hub_config<'v>(view: &View<'v>, list: &[&ConfigRef]) -> Option<&'v Name> {
    let is_hub_config = |config: &&&ConfigRef| {
        Kind::of_config(&config.of.group, &config.of.resource) == Some(Kind::HubConfig)
    };
    list.iter()
        .filter(is_hub_config)
        .find_map(|config| view.config(config)?.version.as_ref())
}

/// Who deploys an add-on on one cluster, as its works tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deployer {
    /// There is no work yet.
    None,
    /// This program: a work carries its marks.
    Tidegate,
    /// Another program: there are works, and none carries our marks.
    Other,
}

fn deployer(view: &View<'_>, instance: &Instance) -> Deployer {
    let deployed = view
        .works(&instance.cluster)
        .filter(|work| is_deploy_work(&instance.addon, &work.name));
    let mut found = Deployer::None;
    for work in deployed {
        if !work.mirror.is_empty() || !work.version.is_empty() {
            return Deployer::Tidegate;
        }
        found = Deployer::Other;
    }
    found
}

/// An add-on that a program deploys stays with its program, on new clusters too, where there are no works yet: a label on a
/// template does not hand it over. Listing `addontemplates` in `spec.supportedConfigs` does.
fn is_deployed_by_others(view: &View<'_>) -> bool {
    let mut others = false;
    for instance in view.all_instances() {
        match deployer(view, instance) {
            Deployer::Tidegate => return false,
            Deployer::Other => others = true,
            Deployer::None => {}
        }
    }
    others
}
