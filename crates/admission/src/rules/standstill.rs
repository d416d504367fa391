//! Which clusters an edit affects but cannot update.
//!
//! As in the planner, an agent is deployed from all of its configurations. A cluster is not updated while one of them does not
//! exist, has a type that the add-on does not support, or is a template of another add-on, and while no template has the
//! version. A configuration that is not known counts as existing.

use std::collections::{BTreeMap, BTreeSet};

use crate::rules::reach::{Home, Reach, alike_by, is_kind, type_of};
use api::names::RESERVED_NO_DEFAULT;
use model::{AddonVersion, ConfigReference, ConfigType};
use store::{ConfigPresence, ConfigRef, Content, Kind, Name, PeerInstance, TemplateSharing};

impl Reach<'_> {
    /// Returns whether configurations of a type can be deployed: the add-on supports the type, and one of them exists.
    pub(super) fn arrives(&self, of: &ConfigType, all: &[&ConfigReference]) -> bool {
        let mut all = all.iter();
        self.supports(of) && all.any(|one| !self.is_absent(one))
    }

    fn is_absent(&self, reference: &ConfigReference) -> bool {
        matches!(self.facts.config(reference), ConfigPresence::Absent(_))
    }

    /// Agents of other programs declare types that the add-on does not list. Until an agent has declared types, every type counts as
    /// supported.
    fn supports(&self, of: &ConfigType) -> bool {
        if self.says.supported.contains(of) {
            return true;
        }
        if self.lists_templates() || !self.versions.is_empty() {
            return is_kind(of, Kind::Template) || is_kind(of, Kind::DeploymentConfig);
        }
        let declared = self.facts.declared_types(self.name);
        declared.is_none_or(|types| types.contains(of))
    }

    /// Returns whether a cluster cannot be updated; the object `coming` counts as existing.
    fn is_stuck(&self, home: Home, peer: &PeerInstance, coming: Option<&ConfigReference>) -> bool {
        let templates = type_of(Kind::Template);
        let (_, named) = self.effective(home, peer, &templates);
        let is_ours = self.lists_templates() || !named.is_empty() || self.chosen(home, peer).is_some();
        if !is_ours {
            return false;
        }
        let is_coming = |of: &ConfigType| coming.is_some_and(|coming| coming.config() == of);
        let has_no_version = named.is_empty() && !is_coming(&templates) && self.offers_no_version(home, peer);
        let mut types: BTreeSet<&ConfigType> =
            self.says.defaults.iter().map(ConfigReference::config).collect();
        let placed = self.placement(home).into_iter();
        types.extend(
            placed
                .flat_map(|placement| &placement.configs)
                .map(ConfigReference::config),
        );
        let own = self.own(peer).filter(|one| *one.name != *RESERVED_NO_DEFAULT);
        let own: BTreeSet<ConfigType> = own.filter_map(type_in).collect();
        types.extend(&own);
        let lacks = |of: &ConfigType| {
            let (_, all) = self.effective(home, peer, of);
            // A cluster may have its own configurations of types that its agent has declared.
            let supports = own.contains(of) || self.supports(of);
            let there = |one: &ConfigReference| coming == Some(one) || !self.is_absent(one);
            !all.is_empty() && (!supports || !all.iter().all(|one| there(one) && !self.is_of_another(one)))
        };
        let mut paid = types.into_iter().take_while(|_| self.effort.spend(1));
        has_no_version || paid.any(lacks)
    }

    /// Whether a cluster requires a version that no template has.
    fn offers_no_version(&self, home: Home, peer: &PeerInstance) -> bool {
        let asked = self.asked(home, peer);
        let asked = asked.map(|text| AddonVersion::parse(&text));
        asked.is_some_and(|asked| asked.map_or(true, |asked| !self.versions.contains_key(&asked)))
    }

    fn is_of_another(&self, reference: &ConfigReference) -> bool {
        match self.facts.config_content(reference) {
            Some(Content::Template(template)) => !TemplateSharing::default().permits(template, self.name),
            Some(_) | None => false,
        }
    }
}

fn type_in(one: &ConfigRef) -> Option<ConfigType> {
    ConfigType::parse(&one.of.group, &one.of.resource).ok()
}

/// Checks one cluster after the other, with one result for all clusters without their own configurations.
pub(super) struct Still<'s, 'a> {
    standing: &'s Reach<'a>,
    coming: Option<&'s ConfigReference>,
    alike: BTreeMap<(Home, Name, bool, bool), bool>,
}

impl<'s, 'a> Still<'s, 'a> {
    pub(super) fn new(standing: &'s Reach<'a>) -> Self {
        Self {
            standing,
            coming: None,
            alike: BTreeMap::new(),
        }
    }

    /// Checks as if this object existed.
    pub(super) fn with(standing: &'s Reach<'a>, coming: &'s ConfigReference) -> Self {
        Self {
            coming: Some(coming),
            ..Self::new(standing)
        }
    }

    /// Returns whether a cluster cannot be updated.
    pub(super) fn stands(&mut self, home: Home, peer: &PeerInstance) -> bool {
        let Self { standing, coming, .. } = *self;
        let check = || standing.is_stuck(home, peer, coming);
        match alike_by(home, peer) {
            None => check(),
            Some((home, version, is_given, is_new)) => {
                let key = (home, version.clone(), is_given, is_new);
                *self.alike.entry(key).or_insert_with(check)
            }
        }
    }
}
