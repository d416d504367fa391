//! What instances with the same assignment share, so that ten thousand of them cost one rendering.
//!
//! Decides which content the works of an instance are made from, and how many works there are: only content whose hash is
//! the assigned one. Never plans a work for an add-on that another program deploys.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::render::{
    ExistingWork, Recipe, RenderFault, RenderInputs, Rendered, Share, Sizes, cluster_values, merged,
    rendered, split,
};
use super::rollout::{Member, Step};
use super::types::WaitOn;
use super::version::{carried_version, invalid};
use super::work::{Body, Rendering, deploy_prefix, superseded};
use store::{
    ConfigRef, Content, DeploymentConfig, Kind, Layering, Name, Reference, Template, View, Work, marks, order,
};

/// Makes the works of one instance after the other. What instances share is made once: those with the same assignment,
/// install namespace, image mirrors and used words of the cluster have the same kit.
#[derive(Debug)]
pub(super) struct Renderer<'v, 'm> {
    view: &'m View<'v>,
    prefix: String,
    kits: Vec<RenderedTemplate>,
    known: BTreeMap<KitKey, usize>,
    /// Neighbours mostly share a kit; comparing is cheaper than looking up.
    last: Option<Last<'v, 'm>>,
}

/// What instances share that have the same kit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct KitKey {
    /// The assigned configurations with their hashes.
    assigned: Vec<(ConfigRef, Name)>,
    /// Which of their deployment configurations count.
    layering: Layering,
    install_namespace: Name,
    /// The cluster's image mirrors.
    image_registries: Name,
    /// What the cluster says under the keys that the template asks for.
    cluster_values: Vec<Option<Name>>,
}

/// So many kits are kept at once: a template may ask for what is different on every cluster.
const MOST_KITS: usize = 512;

/// What was looked up last.
#[derive(Debug)]
struct Last<'v, 'm> {
    member: &'m Member<'v>,
    registries: &'v str,
    template: Option<&'v Template>,
    values: Vec<Option<Name>>,
    index: usize,
}

/// What instances with the same assignment share.
#[derive(Debug)]
enum RenderedTemplate {
    Waiting(WaitOn),
    Refused(String),
    Ready(Box<Ready>),
}

/// The manifests of a kit, and how they are shared out over works.
#[derive(Debug)]
struct Ready {
    hashes: Arc<str>,
    version: Name,
    rendered: Rendered,
    /// Everything in one work, where it fits.
    whole: Option<Arc<[Portion]>>,
    sizes: Option<Sizes>,
    /// How it is shared out where works hold something already: most clusters look alike.
    layouts: BTreeMap<Vec<(u32, Name)>, Arc<[Portion]>>,
    recipes: BTreeMap<Vec<usize>, Arc<Recipe>>,
}

/// One work of a kit.
#[derive(Debug)]
struct Portion {
    number: u32,
    name: Name,
    recipe: Arc<Recipe>,
    gains: bool,
}

impl<'v, 'm> Renderer<'v, 'm> {
    pub(super) fn new(view: &'m View<'v>) -> Self {
        Self {
            view,
            prefix: deploy_prefix(&view.addon.name),
            kits: Vec::new(),
            known: BTreeMap::new(),
            last: None,
        }
    }

    /// Returns the works of an instance.
    pub(super) fn rendering(&mut self, member: &'m Member<'v>) -> Rendering<'v> {
        let instance = member.instance;
        if instance.meta.deleting || !member.effective.deployed {
            return Rendering::NotOurs;
        }
        if let Some(refusal) = refusal(member) {
            return Rendering::Refused(refusal);
        }
        if let Some(wait) = waiting(member) {
            return Rendering::Waiting(wait);
        }
        let stored = stored(member, &self.prefix);
        let index = self.kit(member);
        match self.kits.get_mut(index) {
            None => Rendering::NotOurs,
            Some(RenderedTemplate::Waiting(on)) => Rendering::Waiting(on.clone()),
            Some(RenderedTemplate::Refused(error)) => Rendering::Refused(error.clone()),
            Some(RenderedTemplate::Ready(ready)) => {
                let portions = ready.portions(&self.prefix, &stored, &instance.cluster);
                let body = |portion: &Portion| Body {
                    name: Arc::clone(&portion.name),
                    digest: portion.recipe.digest(&instance.cluster),
                    work: stored
                        .iter()
                        .find(|(number, _)| *number == portion.number)
                        .map(|(_, work)| *work),
                    gains: portion.gains,
                    hashes: Arc::clone(&ready.hashes),
                    version: ready.version.clone(),
                    recipe: Arc::clone(&portion.recipe),
                };
                Rendering::Bodies(portions.iter().map(body).collect())
            }
        }
    }

    fn kit(&mut self, member: &'m Member<'v>) -> usize {
        let view = self.view;
        let mirrors = member.cluster.map(|cluster| &cluster.image_registries);
        let registries = mirrors.map_or("", |text| &**text);
        if let Some(last) = &self.last
            && last.registries == registries
            && share_a_kit(last.member, member)
            && last.values == cluster_values(last.template, member.cluster)
        {
            return last.index;
        }
        if self.kits.len() >= MOST_KITS {
            self.kits.clear();
            self.known.clear();
        }
        let (template, _) = contents(view, &member.assigned, member.layering);
        let values = cluster_values(template, member.cluster);
        let assigned = member.assigned.iter();
        let pairs: Vec<_> = assigned
            .map(|one| (one.config.clone(), one.desired.clone()))
            .collect();
        let key = KitKey {
            assigned: pairs,
            layering: member.layering,
            install_namespace: member.instance.install_namespace.clone(),
            image_registries: mirrors.cloned().unwrap_or_else(|| Name::from("")),
            cluster_values: values.clone(),
        };
        let kits = &mut self.kits;
        let index = *self.known.entry(key).or_insert_with_key(|key| {
            kits.push(kit(view, &member.assigned, key));
            kits.len().saturating_sub(1)
        });
        self.last = Some(Last {
            member,
            registries,
            template,
            values,
            index,
        });
        index
    }
}

/// Returns the deploy works that a cluster has, by number.
fn stored<'v>(member: &Member<'v>, prefix: &str) -> Vec<(u32, &'v Work)> {
    let cluster = &member.instance.cluster;
    let own = member
        .works
        .iter()
        .filter(|work| !work.hosted && order(&work.namespace, cluster).is_eq());
    let number = |work: &'v Work| {
        let digits = work.name.strip_prefix(prefix)?;
        let number: u32 = digits.parse().ok()?;
        // "+1" and "01" read as numbers, too; this program never writes them.
        let is_plain = digits == "0" || !digits.starts_with(['0', '+']);
        is_plain.then_some((number, work))
    };
    let mut works: Vec<(u32, &Work)> = own.filter_map(number).collect();
    works.sort_by_key(|(number, _)| *number);
    works
}

impl Ready {
    fn new(
        view: &View<'_>,
        assigned: &[Reference],
        rendered: Rendered,
        prefix: &str,
    ) -> Result<Self, RenderFault> {
        let mut ready = Self {
            hashes: render_hashes(assigned),
            version: carried_version(view, assigned),
            whole: None,
            sizes: None,
            layouts: BTreeMap::new(),
            recipes: BTreeMap::new(),
            rendered,
        };
        if ready.rendered.deployed.is_empty() {
            ready.whole = Some(Arc::from([]));
        } else if ready.rendered.fits_one_work() {
            let all = Share {
                number: 0,
                manifests: ready.rendered.deployed.clone(),
                gains: false,
            };
            ready.whole = Some(Arc::from([ready.portion(prefix, all)]));
        } else {
            ready.sizes = Some(ready.rendered.sizes()?);
        }
        Ok(ready)
    }

    /// Returns the works of a cluster that has these.
    fn portions(&mut self, prefix: &str, stored: &[(u32, &Work)], cluster: &str) -> Arc<[Portion]> {
        if let Some(whole) = &self.whole
            && (whole.is_empty() || stored.iter().all(|(number, _)| *number == 0))
        {
            return Arc::clone(whole);
        }
        if self.rendered.named_by_cluster {
            return self.shared_out(prefix, stored, cluster);
        }
        let layout: Vec<(u32, Name)> = stored
            .iter()
            .map(|(number, work)| (*number, work.holds.clone()))
            .collect();
        if let Some(known) = self.layouts.get(&layout) {
            return Arc::clone(known);
        }
        let portions = self.shared_out(prefix, stored, cluster);
        self.layouts.insert(layout, Arc::clone(&portions));
        portions
    }

    fn shared_out(&mut self, prefix: &str, stored: &[(u32, &Work)], cluster: &str) -> Arc<[Portion]> {
        let places = self.rendered.marks(cluster);
        let held = |(number, work): &(u32, &Work)| ExistingWork {
            number: *number,
            manifests: marks(&work.holds)
                .filter_map(|mark| places.get(&mark).copied())
                .collect(),
        };
        let held: Vec<ExistingWork> = stored.iter().map(held).collect();
        if self.sizes.is_none() {
            self.sizes = self.rendered.sizes().ok();
        }
        let shares = self
            .sizes
            .as_ref()
            .map(|sizes| split(&sizes.weights, &sizes.order, sizes.bounds, &held))
            .unwrap_or_default();
        shares
            .into_iter()
            .map(|share| self.portion(prefix, share))
            .collect()
    }

    fn portion(&mut self, prefix: &str, share: Share) -> Portion {
        let rendered = &self.rendered;
        let recipe = self
            .recipes
            .entry(share.manifests)
            .or_insert_with_key(|which| Arc::new(rendered.recipe(which)));
        Portion {
            number: share.number,
            name: Name::from(format!("{prefix}{}", share.number)),
            recipe: Arc::clone(recipe),
            gains: share.gains,
        }
    }
}

fn share_a_kit(one: &Member<'_>, other: &Member<'_>) -> bool {
    let pair = |reference: &Reference, same: &Reference| {
        reference.config == same.config && reference.desired == same.desired
    };
    let (assigned, same): (&[Reference], &[Reference]) = (&one.assigned, &other.assigned);
    let is_assigned_the_same = || {
        let mut pairs = assigned.iter().zip(same);
        assigned.len() == same.len() && pairs.all(|(reference, same)| pair(reference, same))
    };
    one.instance.install_namespace == other.instance.install_namespace
        && one.layering == other.layering
        && (std::ptr::eq(assigned, same) || is_assigned_the_same())
}

fn kit(view: &View<'_>, assigned: &[Reference], shared: &KitKey) -> RenderedTemplate {
    if let Some(superseded) = superseded(view, assigned) {
        return RenderedTemplate::Waiting(WaitOn::Content(superseded.config.clone()));
    }
    let (template, config) = contents(view, assigned, shared.layering);
    let Some(template) = template else {
        return RenderedTemplate::Refused(RenderFault::NoTemplate.to_string());
    };
    let addon = &*view.addon.name;
    if !view.settings().template_sharing.permits(template, addon) {
        return RenderedTemplate::Refused(foreign(template, addon));
    }
    let subject = RenderInputs {
        addon,
        template,
        config: config.as_deref(),
        install_namespace: &shared.install_namespace,
        image_registries: &shared.image_registries,
        cluster_values: &shared.cluster_values,
        unset: view.settings().unset_variables,
    };
    let ready =
        rendered(&subject).and_then(|rendered| Ready::new(view, assigned, rendered, &deploy_prefix(addon)));
    match ready {
        Ok(ready) => RenderedTemplate::Ready(Box::new(ready)),
        Err(fault) => RenderedTemplate::Refused(fault.to_string()),
    }
}

/// Returns why a template that is for another add-on is not used.
pub(super) fn foreign(template: &Template, addon: &str) -> String {
    format!(
        "the assigned AddOnTemplate is for add-on {:?}, not for {addon:?}, and requests hub permissions or a custom signer",
        &*template.addon
    )
}

/// Returns what works are made of: the first template, and the first deployment configuration or all of them together.
pub(super) fn contents<'v>(
    view: &View<'v>,
    assigned: &[Reference],
    layering: Layering,
) -> (Option<&'v Template>, Option<Cow<'v, DeploymentConfig>>) {
    let found = |kind: Kind| {
        let is_of_kind = move |reference: &&Reference| {
            let of = &reference.config.of;
            Kind::of_config(&of.group, &of.resource) == Some(kind)
        };
        let those = assigned.iter().filter(is_of_kind);
        those.map(|reference| view.content(&reference.config, &reference.desired))
    };
    let template = match found(Kind::Template)
        .next()
        .flatten()
        .map(|found| &*found.content)
    {
        Some(Content::Template(template)) => Some(template),
        Some(Content::Deployment(_) | Content::Hub) | None => None,
    };
    let layers = layering.counting(found(Kind::DeploymentConfig)).flatten();
    let layers = layers.filter_map(|found| match &*found.content {
        Content::Deployment(config) => Some(config),
        Content::Template(_) | Content::Hub => None,
    });
    (template, merged(&layers.collect::<Vec<_>>()))
}

/// Hosted agents of template add-ons are refused: deploying them on the managed cluster would be the wrong cluster.
fn refusal(member: &Member<'_>) -> Option<String> {
    if !member.instance.hosting_cluster.is_empty() {
        return Some(format!(
            "a template add-on cannot be hosted on {:?}",
            &*member.instance.hosting_cluster
        ));
    }
    None
}

fn waiting(member: &Member<'_>) -> Option<WaitOn> {
    match member.cluster {
        None => return Some(WaitOn::Cluster),
        Some(cluster) if cluster.meta.deleting => return Some(WaitOn::ClusterDeletion),
        Some(_) => {}
    }
    if let (Step::Hold, true, Some(notice)) = (member.step, member.assigned.is_empty(), &member.notice) {
        return Some(WaitOn::Rollout(notice.turn(&notice.message)));
    }
    if let Some(of) = &member.effective.unsupported {
        return Some(WaitOn::UnsupportedType(of.clone()));
    }
    if let Some(bad) = invalid(member) {
        return Some(WaitOn::Version(bad.to_string()));
    }
    // A hash that only cannot be verified any more holds nothing up: what is rendered is still what it was.
    let desired = member.missing().filter(|desired| desired.hash.is_empty())?;
    Some(WaitOn::Config(desired.config.clone(), desired.why()?))
}

fn render_hashes(assigned: &[Reference]) -> Arc<str> {
    if assigned.is_empty() {
        return Arc::from("");
    }
    let sorted: BTreeMap<String, &str> = assigned
        .iter()
        .map(|one| (one.config.to_string(), &*one.desired))
        .collect();
    Arc::from(json!(sorted).to_string())
}
