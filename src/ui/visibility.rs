//! What of the pictures a person may see.
//!
//! Decides which questions the hub is asked about a person, and what is left out by its answers: the right to list add-ons shows
//! their rollouts, the right to list the add-ons of a cluster shows that cluster. What names clusters in words goes with them.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use insight::cockpit::{ClusterView, LeftOut, Picture, RolloutList, Target, TargetKind};
use serde_json::Value;
use store::Kind;

/// A person who may not see all clusters is asked about for so many of them.
const MOST_ASKED: usize = 256;

/// A question of rights.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Question {
    pub(super) kind: Kind,
    /// Where; "" everywhere.
    pub(super) namespace: String,
    /// One object alone; "" all.
    pub(super) name: String,
}

impl Question {
    /// May all objects of a kind be listed?
    pub(super) fn all(kind: Kind) -> Self {
        Self::within(kind, "")
    }

    /// May the objects of a namespace be listed?
    pub(super) fn within(kind: Kind, namespace: &str) -> Self {
        Self {
            kind,
            namespace: namespace.to_owned(),
            name: String::new(),
        }
    }

    /// May one object be read?
    pub(super) fn one(kind: Kind, name: &str) -> Self {
        Self {
            kind,
            namespace: String::new(),
            name: name.to_owned(),
        }
    }

    pub(super) fn verb(&self) -> &'static str {
        if self.name.is_empty() { "list" } else { "get" }
    }
}

/// The hub's answers about a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Grants {
    /// The hub does not authenticate: any visitor may see everything.
    pub(super) everything: bool,
    /// What it said yes to.
    pub(super) granted: BTreeSet<Question>,
}

impl Grants {
    fn holds(&self, question: &Question) -> bool {
        self.everything || self.granted.contains(question)
    }

    fn rollout(&self, target: &Target) -> bool {
        match target.kind {
            TargetKind::ClusterManagementAddOn => self.holds(&Question::all(Kind::AddOn)),
            TargetKind::ManagedClustersUpgrade => {
                self.holds(&Question::all(Kind::Upgrade))
                    || self.holds(&Question::within(Kind::Upgrade, &target.namespace))
            }
        }
    }

    fn all_clusters(&self, target: &Target) -> bool {
        self.holds(&Question::all(cluster_kind(target)))
    }

    pub(super) fn cluster(&self, target: &Target, cluster: &str) -> bool {
        self.all_clusters(target) || self.holds(&of_cluster(target, cluster))
    }

    /// Returns whether an object may be seen.
    pub(super) fn object(&self, kind: Kind, namespace: &str) -> bool {
        self.holds(&Question::all(kind)) || self.holds(&Question::within(kind, namespace))
    }
}

/// Where the state of one cluster in a rollout is written.
fn cluster_kind(target: &Target) -> Kind {
    match target.kind {
        TargetKind::ClusterManagementAddOn => Kind::Instance,
        TargetKind::ManagedClustersUpgrade => Kind::Cluster,
    }
}

fn of_cluster(target: &Target, cluster: &str) -> Question {
    match target.kind {
        TargetKind::ClusterManagementAddOn => Question::within(Kind::Instance, cluster),
        TargetKind::ManagedClustersUpgrade => Question::one(Kind::Cluster, cluster),
    }
}

/// Returns what is asked about every person.
pub(super) fn first_questions() -> Vec<Question> {
    [Kind::AddOn, Kind::Instance, Kind::Upgrade, Kind::Cluster]
        .map(Question::all)
        .to_vec()
}

/// Returns what is asked about a person who may not see everything: namespace by namespace, so many of them.
pub(super) fn next_questions(pictures: &[Arc<Picture>], grants: &Grants) -> Vec<Question> {
    let mut more = BTreeSet::new();
    for picture in pictures {
        let target = &picture.target;
        if !grants.rollout(target) && target.kind == TargetKind::ManagedClustersUpgrade {
            more.insert(Question::within(Kind::Upgrade, &target.namespace));
        }
    }
    more.into_iter().take(MOST_ASKED).collect()
}

/// Returns what is asked about the clusters of a rollout that a person may see, one by one.
pub(super) fn cluster_questions(picture: &Picture, grants: &Grants) -> Vec<Question> {
    let target = &picture.target;
    if !grants.rollout(target) || grants.all_clusters(target) {
        return Vec::new();
    }
    let clusters = picture.clusters.iter().take(MOST_ASKED);
    clusters
        .map(|cluster| of_cluster(target, &cluster.name))
        .collect()
}

/// Returns what is asked about the objects that have findings.
pub(super) fn finding_questions<'a>(objects: impl Iterator<Item = (Kind, &'a str)>) -> Vec<Question> {
    let mut more = BTreeSet::new();
    for (kind, namespace) in objects {
        more.insert(Question::all(kind));
        more.insert(Question::within(kind, namespace));
    }
    more.into_iter().take(MOST_ASKED).collect()
}

/// Returns the rollouts that may be seen, and how many may not.
pub(super) fn rollouts<'a>(pictures: &'a [Arc<Picture>], grants: &Grants) -> (Vec<&'a Arc<Picture>>, usize) {
    let seen: Vec<&Arc<Picture>> = pictures
        .iter()
        .filter(|one| grants.rollout(&one.target))
        .collect();
    let hidden = pictures.len().saturating_sub(seen.len());
    (seen, hidden)
}

/// Returns a rollout as it may be seen, and how many of its clusters may not; nothing when it may not be seen at all.
pub(super) fn rollout(picture: &Arc<Picture>, grants: &Grants) -> Option<(Arc<Picture>, usize)> {
    let target = &picture.target;
    if !grants.rollout(target) {
        return None;
    }
    if grants.all_clusters(target) {
        return Some((Arc::clone(picture), 0));
    }
    let visible = picture
        .clusters
        .iter()
        .filter(|one| grants.cluster(target, &one.name));
    let clusters: Vec<ClusterView> = visible.cloned().collect();
    let hidden = picture.clusters.len().saturating_sub(clusters.len());
    Some((
        Arc::new(Picture {
            clusters,
            ..quiet(picture)
        }),
        hidden,
    ))
}

/// A picture without its clusters, and without the words that may name them.
fn quiet(picture: &Picture) -> Picture {
    let mut quiet = picture.without_clusters();
    quiet.phase.word().clone_into(&mut quiet.message);
    quiet.notices.clear();
    quiet.health.message.clear();
    quiet.eta_unknown = None;
    for one in &mut quiet.undone {
        one.message.clear();
    }
    if let Some(next) = &mut quiet.next {
        next.what.clear();
    }
    for wave in &mut quiet.waves {
        wave.waits_for.clear();
    }
    quiet
}

/// Returns the list as `rollout list -o json` has it, and what was left out.
pub(super) fn list(pictures: &[Arc<Picture>], grants: &Grants) -> Value {
    let (seen, hidden) = rollouts(pictures, grants);
    let items: Vec<Picture> = seen
        .into_iter()
        .map(|one| {
            if grants.all_clusters(&one.target) {
                one.without_clusters()
            } else {
                quiet(one)
            }
        })
        .collect();
    let rights = missing(grants);
    let left_out = (hidden > 0 || !rights.is_empty()).then_some(LeftOut {
        rollouts: hidden,
        rights,
    });
    RolloutList { items, left_out }.document()
}

/// Which rights to see everything a person lacks: said, so that an empty page is not taken for an empty hub.
fn missing(grants: &Grants) -> Vec<String> {
    let all = first_questions();
    let lacking = all.iter().filter(|question| !grants.holds(question));
    let each = lacking.map(|question| {
        let address = question.kind.address();
        format!("list {}.{}", address.resource, address.group)
    });
    each.collect()
}

/// Answers by question, for the memory of a person.
pub(super) type Answers = BTreeMap<Question, bool>;

#[cfg(test)]
pub(super) mod samples {
    use super::*;
    use insight::cockpit::{Attention, ClusterState, Counts, HealthState, Phase, RolloutHealth};
    use jiff::Timestamp;

    /// An add-on on some clusters that are done.
    pub(in crate::ui) fn picture(name: &str, clusters: &[&str]) -> Picture {
        let clusters = clusters.iter().map(|name| ClusterView {
            name: (*name).to_owned(),
            wave: 0,
            state: ClusterState::Done,
            reason: String::new(),
            message: String::new(),
            since: None,
            until: None,
            percent: None,
            version: String::new(),
            healthy: true,
            offline: false,
        });
        Picture {
            api_version: insight::cockpit::API_VERSION,
            kind: "Rollout",
            at: Timestamp::UNIX_EPOCH,
            target: Target::addon(name),
            phase: Phase::Done,
            message: "done; a was last".to_owned(),
            health: RolloutHealth {
                state: HealthState::Healthy,
                reason: "Ready".to_owned(),
                message: "a is ready".to_owned(),
                ..RolloutHealth::default()
            },
            attention: Attention::of(Phase::Done, HealthState::Healthy),
            counts: Counts::default(),
            paused: None,
            pauses: Vec::new(),
            approvals: Vec::new(),
            next: None,
            eta: None,
            eta_unknown: None,
            undone: Vec::new(),
            changes: Vec::new(),
            waves: Vec::new(),
            clusters: clusters.collect(),
            notices: vec!["a is odd".to_owned()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::samples::picture;
    use super::*;
    use serde_json::json;

    fn granted(questions: &[Question]) -> Grants {
        Grants {
            everything: false,
            granted: questions.iter().cloned().collect(),
        }
    }

    #[test]
    fn a_user_without_permissions_sees_nothing_and_the_missing_permissions() {
        let pictures = [Arc::new(picture("hello", &["a", "b"]))];
        let list = list(&pictures, &Grants::default());
        assert_eq!(list["items"], json!([]));
        assert_eq!(list["leftOut"]["rollouts"], 1);
        assert_eq!(
            list["leftOut"]["rights"][0],
            "list clustermanagementaddons.addon.open-cluster-management.io"
        );
        assert_eq!(rollout(&pictures[0], &Grants::default()), None);
        assert_eq!(cluster_questions(&pictures[0], &Grants::default()), []);
    }

    #[test]
    fn a_user_of_one_cluster_sees_it_and_no_text_about_the_others() {
        let pictures = [Arc::new(picture("hello", &["a", "b"]))];
        let grants = granted(&[Question::all(Kind::AddOn)]);
        let asked = cluster_questions(&pictures[0], &grants);
        assert_eq!(asked, ["a", "b"].map(|one| Question::within(Kind::Instance, one)));
        let grants = granted(&[Question::all(Kind::AddOn), Question::within(Kind::Instance, "b")]);
        let (seen, hidden) = rollout(&pictures[0], &grants).expect("it may be seen");
        let names: Vec<&str> = seen.clusters.iter().map(|one| one.name.as_str()).collect();
        assert_eq!((names, hidden), (vec!["b"], 1));
        assert_eq!((seen.message.as_str(), seen.notices.len()), ("Done", 0));
        assert_eq!(
            (seen.health.message.as_str(), seen.health.reason.as_str()),
            ("", "Ready")
        );
        assert!(grants.cluster(&pictures[0].target, "b") && !grants.cluster(&pictures[0].target, "a"));
    }

    #[test]
    fn a_user_with_all_permissions_gets_the_picture_itself() {
        let pictures = [Arc::new(picture("hello", &["a"]))];
        let everything = Grants {
            everything: true,
            ..Grants::default()
        };
        let (seen, hidden) = rollout(&pictures[0], &everything).expect("it may be seen");
        assert!(Arc::ptr_eq(&seen, &pictures[0]) && hidden == 0);
        let list = list(&pictures, &everything);
        assert_eq!(list["items"][0]["target"]["name"], "hello");
        assert_eq!(list.get("leftOut"), None);
    }

    #[test]
    fn upgrades_are_asked_about_by_namespace() {
        let upgrade = Picture {
            target: Target::upgrade("default", "to-4-12"),
            ..picture("x", &["a"])
        };
        let pictures = [Arc::new(upgrade)];
        let next = next_questions(&pictures, &Grants::default());
        assert_eq!(next, [Question::within(Kind::Upgrade, "default")]);
        let grants = granted(&next);
        assert_eq!(
            cluster_questions(&pictures[0], &grants),
            [Question::one(Kind::Cluster, "a")]
        );
    }
}
