//! The view of one upgrade of clusters: everything its plan may read.
//!
//! Decides which clusters are in a set. What a plan does with them is `upgrade`'s.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::upgrade::{Refusal, Upgrade, View, marks};
use api::names::labels::CLUSTER_SET;
use api::reason::Reason;
use model::Name;
use model::upgrade::PlacementKey;

use crate::kind::{Kind, Owner, Touched};
use crate::kinds::cluster_set::SetBinding;
use crate::kinds::cluster_set::{ClusterSet, Members};
use crate::kinds::decision::Placement;
use crate::kinds::upgrade::{self as kind, UpgradeRecord};
use crate::record;
use crate::store::Store;

impl Store {
    /// Returns the upgrades of clusters.
    pub fn upgrades(&self) -> impl Iterator<Item = Owner> {
        let all = self.kept.all::<kind::Upgrade>();
        all.map(|(place, _)| Owner::at(Kind::Upgrade, place))
    }

    /// Returns the phase of every upgrade of clusters, and its `stateCounts` in their order.
    pub fn upgrade_progress(&self) -> impl Iterator<Item = (&str, [i64; 5])> {
        self.kept.all::<kind::Upgrade>().map(|(_, upgrade)| {
            let all = upgrade.status.state_counts.unwrap_or_default();
            let counts = [
                all.not_started,
                all.initialized,
                all.partial,
                all.complete,
                all.failed,
            ];
            (&*upgrade.status.phase, counts)
        })
    }

    /// Returns the finalizers of an upgrade, those of others included: a list is patched as a whole.
    pub fn upgrade_finalizers(&self, owner: &Owner) -> &[String] {
        let found = self.kept.get::<kind::Upgrade>(&owner.place());
        found.map(|found| &*found.finalizers).unwrap_or_default()
    }

    /// Returns everything that the plan of an upgrade may read.
    pub fn upgrade_view(&self, owner: &Owner) -> Option<View<'_>> {
        let (place, found) = self.kept.entry::<kind::Upgrade>(&owner.place())?;
        let (namespace, name) = place;
        let troubles = self.pending.troubles.get(owner).into_iter().flatten();
        let mut refused = BTreeMap::new();
        let mut unwritten = None;
        for (object, why) in troubles {
            if object.kind == Kind::UpgradeWork {
                let refusal = Refusal {
                    work: object.name.to_string(),
                    why: why.to_string(),
                };
                refused.insert(object.namespace.clone(), refusal);
            } else {
                unwritten = Some(why.to_string());
            }
        }
        let upgrade = Upgrade {
            namespace,
            name,
            uid: &found.meta.uid,
            generation: found.meta.generation,
            retry: &found.retry,
            record: &found.record,
            deleting: found.meta.deleting,
            held: found.finalizers.iter().any(|one| one == marks::FINALIZER),
            spec: &found.spec,
            status: &found.status,
        };
        Some(View {
            upgrade,
            placements: self.decided_for(found),
            unproven: reported_unproven(&upgrade),
            undecided: self.has_undecided(found),
            sets: self.bound_sets(namespace),
            clusters: Cow::Borrowed(&self.upgrades.clusters),
            works: Cow::Borrowed(&self.upgrades.works),
            freezes: self.freezes().filter(|record| stops_upgrades(record)).collect(),
            approvals: self.upgrade_approvals(namespace, name),
            checks: self.upgrade_checks(found),
            shows_approvals: self.objects.shown.contains(&Kind::Approval),
            settings: self.resolve(None, found.profile()),
            settings_fault: self.profile_fault(found.profile(), None),
            refused,
            unwritten,
        })
    }

    /// The clusters that the placements of an upgrade have decided for.
    fn decided_for(&self, upgrade: &UpgradeRecord) -> BTreeMap<PlacementKey, BTreeSet<Name>> {
        let each = upgrade.spec.placement.iter().filter_map(|reference| {
            let place = (
                reference.namespace.as_str().into(),
                reference.name.as_str().into(),
            );
            self.kept.get::<Placement>(&place)?;
            let decisions = self.objects.decisions.get(&place).into_iter().flatten();
            let clusters = decisions.flat_map(|(_, decision)| decision.clusters.iter().cloned());
            let key = PlacementKey {
                namespace: reference.namespace.clone(),
                name: reference.name.clone(),
            };
            Some((key, clusters.collect()))
        });
        each.collect()
    }

    /// Whether a placement of an upgrade has not been decided as a whole. One that does not exist selects no cluster.
    fn has_undecided(&self, upgrade: &UpgradeRecord) -> bool {
        upgrade.spec.placement.iter().any(|reference| {
            let place = (
                reference.namespace.as_str().into(),
                reference.name.as_str().into(),
            );
            let decisions = self.objects.decisions.get(&place).into_iter().flatten();
            let named: usize = decisions.map(|(_, decision)| decision.clusters.len()).sum();
            let placement = self.kept.get::<Placement>(&place);
            placement.is_some_and(|placement| !placement.is_decided_by(named))
        })
    }

    /// The sets that a namespace may select from, with their clusters.
    fn bound_sets(&self, namespace: &Name) -> BTreeMap<String, BTreeSet<Name>> {
        let bound = self.kept.all::<SetBinding>();
        let bound = bound.filter(|((place, _), _)| place == namespace);
        bound
            .map(|(_, binding)| (binding.set.to_string(), self.members(&binding.set)))
            .collect()
    }

    fn members(&self, set: &Name) -> BTreeSet<Name> {
        let Some(found) = self.kept.get::<ClusterSet>(&(Name::default(), set.clone())) else {
            return BTreeSet::new();
        };
        let is_in = |cluster: &record::Cluster| match &found.members {
            Members::Label => cluster.labels.get(CLUSTER_SET) == Some(set),
            Members::Selector(selector) => cluster.is_matched_by(selector),
            Members::Unreadable => false,
        };
        let all = self.objects.clusters.iter();
        all.filter(|(_, cluster)| is_in(cluster))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// The checks that an upgrade waits for, by name.
    fn upgrade_checks(&self, upgrade: &UpgradeRecord) -> BTreeMap<Name, model::Check> {
        let settings = self.resolve(None, upgrade.profile());
        let shared = settings.checks_of_stage(None).iter().map(|name| &**name);
        let names: BTreeSet<&str> = upgrade.checks().chain(shared).collect();
        let each = names.into_iter().map(|name| {
            let check = self.named_check(&Name::from(name));
            (check.name.clone(), check)
        });
        each.collect()
    }

    /// Notes that something concerns every upgrade.
    pub(crate) fn touch_upgrades(&self, touched: &mut Touched) {
        touched.extend(self.upgrades());
    }

    /// Keeps what is known of a cluster in the form in which upgrades read it, if there are any.
    pub(crate) fn cluster_changed_for_upgrades(&mut self, name: &Name, touched: &mut Touched) {
        if self.kept.has_none_of::<kind::Upgrade>() {
            return;
        }
        let now = self.objects.clusters.get(name).map(read);
        let before = self.upgrades.clusters.remove(name);
        if now != before {
            self.touch_upgrades(touched);
        }
        let filed = now.map(|cluster| (name.clone(), cluster));
        self.upgrades.clusters.extend(filed);
    }

    /// Begins with all of them when the first upgrade has come, and ends it with the last.
    pub(crate) fn keep_clusters_for_upgrades(&mut self) {
        if self.kept.has_none_of::<kind::Upgrade>() {
            self.upgrades.clusters.clear();
            return;
        }
        if !self.upgrades.clusters.is_empty() {
            return;
        }
        let all = self.objects.clusters.iter();
        self.upgrades.clusters = all.map(|(name, cluster)| (name.clone(), read(cluster))).collect();
    }
}

fn stops_upgrades(record: &record::FreezeRecord) -> bool {
    let freeze = record.freeze.as_ref();
    freeze.map_or(true, model::Freeze::stops_upgrades)
}

/// The placements that the controllers found unproven, as the status shows it: a record cannot be checked without the keys.
fn reported_unproven(upgrade: &Upgrade<'_>) -> BTreeSet<PlacementKey> {
    let mut clusters = upgrade.status.clusters.iter();
    if clusters.any(|cluster| *cluster.reason == Reason::PlacementAccessUnproven) {
        upgrade.access().foreign()
    } else {
        BTreeSet::new()
    }
}

fn read(cluster: &record::Cluster) -> crate::upgrade::Cluster {
    let facts = &cluster.facts;
    let text = |name: &Name| name.to_string();
    let labels = facts.labels.iter().map(|(key, value)| (text(key), text(value)));
    let claim = |claim: &str| facts.claims.get(claim).map(text);
    crate::upgrade::Cluster {
        available: facts.available == Some(true),
        deleting: facts.deleting,
        ..crate::upgrade::Cluster::described(labels.collect(), claim)
    }
}
