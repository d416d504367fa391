//! Rules about edits of configurations that clusters use. Page: `tests/rules/in-place.md`.
//!
//! Warns about edits that update too many clusters at once although no reference changes, and about edits that remove a variable
//! that a template needs. Never refuses, because several add-ons may use the configuration.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::body::Node;
use crate::rules::blast_radius::{MOVE, too_many};
use crate::rules::reach::{Mover, Reach, Source, concerned, reference_to, type_of};
use crate::rules::standstill::Still;
use crate::rules::template::{UNKNOWN_VARIABLE, each_variable};
use crate::step_budget::StepBudget;
use crate::subject::{self, DeploymentConfig, HubConfig, Subject, Template, rules};
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use model::{AddonVersion, ConfigReference};
use store::{ConfigPresence, Content, Facts, Kind, Name};

// What they mean is documented where add-ons and templates have them.
rules! { pub(crate) ON_DEPLOYMENT_CONFIGS of DeploymentConfig {
    warns MOVE, CreateAndUpdate, deployment_config_moves => "";
    warns UNKNOWN_VARIABLE, Update, removes_variables => "";
} }

rules! { pub(crate) ON_HUB_CONFIGS of HubConfig {
    warns MOVE, CreateAndUpdate, hub_config_moves => "";
} }

rules! { pub(crate) ON_TEMPLATES of Template {
    warns MOVE, CreateAndUpdate, template_moves => "";
} }

fn deployment_config_moves(subject: &Subject<'_, DeploymentConfig>, findings: &mut Findings) {
    let specs = (subject.old.as_ref().map(|old| &old.spec), &subject.body.spec);
    moves(subject, Kind::DeploymentConfig, specs, findings);
}

fn hub_config_moves(subject: &Subject<'_, HubConfig>, findings: &mut Findings) {
    let specs = (subject.old.as_ref().map(|old| &old.spec), &subject.body.spec);
    moves(subject, Kind::HubConfig, specs, findings);
}

fn template_moves(subject: &Subject<'_, Template>, findings: &mut Findings) {
    let specs = (subject.old.as_ref().map(|old| &old.spec), &subject.body.spec);
    moves(subject, Kind::Template, specs, findings);
    raises_the_default(subject, findings);
}

/// What a spec was, if the object was there, and what it is.
type Specs<'s, 'a> = (Option<&'s Option<Node<'a>>>, &'s Option<Node<'a>>);

fn moves<K: subject::Kind>(
    subject: &Subject<'_, K>,
    kind: Kind,
    (was, is): Specs<'_, '_>,
    findings: &mut Findings,
) {
    let Some(config) = reference_to(kind, subject.namespace, subject.name) else {
        return;
    };
    let path = if let Some(was) = was {
        edited(was.as_ref(), is.as_ref(), subject.effort)
    } else {
        // Clusters that refer to the object have waited for it. An object that is already stored changes nothing.
        let is_new = matches!(subject.facts.config(&config), ConfigPresence::Absent(_));
        is_new.then(|| Path::root().key("spec"))
    };
    let Some(path) = path else {
        return;
    };
    for (addon, standing) in concerned(subject.facts, subject.effort) {
        let movers = moving(&standing, &config);
        if let Some(fault) = too_many(&standing, &movers, subject.blast_radius, Some(addon)) {
            findings.warn(fault.at(path.clone(), MOVE));
        }
    }
}

/// Returns the clusters that use a configuration and can be updated.
fn moving<'a>(standing: &Reach<'a>, config: &ConfigReference) -> Vec<Mover<'a>> {
    let users = standing.users(config);
    if users.is_empty() {
        return users;
    }
    let names: BTreeMap<&Name, Source> = users
        .into_iter()
        .map(|user| (user.cluster, user.source))
        .collect();
    let mut still = Still::with(standing, config);
    let each = standing.clusters().filter_map(|(cluster, home, peer)| {
        let source = *names.get(cluster)?;
        (!still.stands(home, peer)).then_some(Mover {
            cluster,
            home,
            source,
        })
    });
    each.collect()
}

/// Returns the path of the difference between two specs: the field if only one differs, otherwise `spec`.
fn edited(was: Option<&Node<'_>>, is: Option<&Node<'_>>, effort: &StepBudget<'_>) -> Option<Path> {
    let spec = Path::root().key("spec");
    let (was, is) = (was.map(|node| node.value), is.map(|node| node.value));
    let (was, is) = (was.and_then(Value::as_object), is.and_then(Value::as_object));
    let names: BTreeSet<&String> = was
        .into_iter()
        .chain(is)
        .flat_map(|fields| fields.keys())
        .collect();
    let mut differing = names.into_iter().filter(|name| {
        let was = was.and_then(|fields| fields.get(*name));
        match (was, is.and_then(|fields| fields.get(*name))) {
            (Some(was), Some(is)) => !effort.same(was, is),
            (was, is) => was.is_some() || is.is_some(),
        }
    });
    let first = differing.next()?;
    Some(match differing.next() {
        None => spec.key(first.clone()),
        Some(_) => spec,
    })
}

/// Warns about a new template with the highest version: clusters without a desired version are updated to it.
fn raises_the_default(subject: &Subject<'_, Template>, findings: &mut Findings) {
    let (facts, effort) = (subject.facts, subject.effort);
    let Some((path, label)) = &subject.body.version else {
        return;
    };
    let (Ok(version), Some(known)) = (AddonVersion::parse(label), facts.versions(subject.body.addon)) else {
        return;
    };
    let others = known.supported.iter().zip(&known.templates);
    let others = others
        .take_while(|_| effort.spend(1))
        .filter(|(_, template)| ***template != *subject.name);
    let mut all: Vec<AddonVersion> = others
        .filter_map(|(text, _)| AddonVersion::parse(text).ok())
        .collect();
    all.push(version.clone());
    let is_default = AddonVersion::default_of(&all) == Some(&version);
    let was_default = known
        .default
        .as_deref()
        .and_then(|text| AddonVersion::parse(text).ok());
    // A template that is already stored, or one of a version that has a template, changes nothing.
    if !is_default || was_default.as_ref() == Some(&version) {
        return;
    }
    let Some(says) = facts.addon(subject.body.addon) else {
        return;
    };
    let Some(standing) = Reach::of(facts, subject.body.addon, says, effort) else {
        return;
    };
    let Some(coming) = reference_to(Kind::Template, "", subject.name) else {
        return;
    };
    let mut still = Still::with(&standing, &coming);
    let followers = standing
        .clusters()
        .filter(|(_, home, peer)| standing.follows_the_default(*home, peer) && !still.stands(*home, peer));
    let movers: Vec<Mover<'_>> = followers
        .map(|(cluster, home, _)| Mover {
            cluster,
            home,
            source: Source::Supported,
        })
        .collect();
    let addon = Some(subject.body.addon);
    if let Some(fault) = too_many(&standing, &movers, subject.blast_radius, addon) {
        findings.warn(fault.at(path.clone(), MOVE));
    }
}

/// Warns if an edit removes a variable that a template needs, as the rules of templates do for variables without a value.
fn removes_variables(subject: &Subject<'_, DeploymentConfig>, findings: &mut Findings) {
    let Some(old) = &subject.old else { return };
    let effort = subject.effort;
    let names = |nodes: &crate::step_budget::Items<Node<'_>>| -> BTreeSet<String> {
        let named = nodes.each(effort).filter_map(|node| node.text("name"));
        named.map(str::to_owned).collect()
    };
    let is = names(&subject.body.list("customizedVariables"));
    let removed: BTreeSet<String> = names(&old.list("customizedVariables"))
        .difference(&is)
        .cloned()
        .collect();
    let Some(config) = reference_to(Kind::DeploymentConfig, subject.namespace, subject.name) else {
        return;
    };
    if removed.is_empty() {
        return;
    }
    let path = Path::root().key("spec").key("customizedVariables");
    for (addon, standing) in concerned(subject.facts, effort) {
        for ((name, template), clusters) in lacking(subject, &standing, &config, &removed) {
            let whose = if clusters == 1 {
                "1 cluster"
            } else {
                &format!("{clusters} clusters")
            };
            let detail = format!(
                "template {} of add-on {} needs this variable, and {whose} would have no value for it",
                quoted(&template),
                quoted(addon)
            );
            let fault =
                Fault::of_text(Class::Required, &name, detail).hint("keep it until no template uses it");
            findings.warn(fault.at(path.clone(), UNKNOWN_VARIABLE));
        }
    }
}

/// Returns the removed variables that templates need, each with its template and the number of clusters without a value.
fn lacking(
    subject: &Subject<'_, DeploymentConfig>,
    standing: &Reach<'_>,
    config: &ConfigReference,
    removed: &BTreeSet<String>,
) -> BTreeMap<(String, String), usize> {
    let users: BTreeSet<&Name> = standing
        .users(config)
        .into_iter()
        .map(|user| user.cluster)
        .collect();
    let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut lacking = BTreeMap::new();
    if users.is_empty() {
        return lacking;
    }
    for (_, home, peer) in standing
        .clusters()
        .filter(|(cluster, _, _)| users.contains(cluster))
    {
        let (_, all) = standing.effective(home, peer, &type_of(Kind::DeploymentConfig));
        // An agent is deployed with the first of several, or with all of them merged.
        let counts = if standing.merges() {
            all.contains(config)
        } else {
            all.first() == Some(config)
        };
        let Some(template) = standing.template(home, peer).filter(|_| counts) else {
            continue;
        };
        let others = all.iter().filter(|one| standing.merges() && *one != config);
        let kept: BTreeSet<&str> = others.flat_map(|one| variables(subject.facts, one)).collect();
        let needed = needs
            .entry(template.clone())
            .or_insert_with(|| needed_by(subject, &template, removed));
        for name in needed.iter().filter(|name| !kept.contains(name.as_str())) {
            let count: &mut usize = lacking.entry((name.clone(), template.clone())).or_default();
            *count = count.saturating_add(1);
        }
    }
    lacking
}

/// Returns the variables of an AddOnDeploymentConfig.
fn variables<'f>(facts: &'f Facts, config: &ConfigReference) -> Vec<&'f str> {
    match facts.config_content(config) {
        Some(Content::Deployment(found)) => found.variables.iter().map(|(name, _)| &**name).collect(),
        Some(Content::Template(_) | Content::Hub) | None => Vec::new(),
    }
}

fn needed_by(
    subject: &Subject<'_, DeploymentConfig>,
    template: &str,
    removed: &BTreeSet<String>,
) -> BTreeSet<String> {
    let mut needed = BTreeSet::new();
    let found = reference_to(Kind::Template, "", template).map(|reference| subject.facts.config(&reference));
    let Some(ConfigPresence::Exists(found)) = found else {
        return needed;
    };
    if let Some(Content::Template(template)) = found.content.as_deref() {
        each_variable(&template.agent, subject.effort, |name| {
            needed.extend(removed.get(name).cloned());
        });
    }
    needed
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::step_budget::StepBudget;
    use crate::subject::BlastRadius;
    use crate::subject::{Kind as _, Subject, Template};
    use crate::unconfirmed::Unconfirmed;
    use kubernetes::field::Findings;
    use model::{HubNamespaces, ReservedSigners};
    use store::{Completeness, Event, Facts, Kind, Settings, Store};

    /// Ten clusters of a label selector, and templates of the add-on with these versions.
    fn hub(versions: &[&str]) -> Facts {
        let mut store = Store::new(Settings::default());
        let mut objects = vec![(
            Kind::AddOn,
            json!({"metadata": {"name": "hello"}, "spec": {"supportedConfigs": [
                {"group": "addon.open-cluster-management.io", "resource": "addontemplates"}]}}),
        )];
        for version in versions {
            objects.push((Kind::Template, template(version)));
        }
        for number in 0..10 {
            let metadata = json!({"name": "hello", "namespace": format!("c{number}")});
            objects.push((Kind::Instance, json!({"metadata": metadata, "spec": {}})));
        }
        for (number, (kind, mut object)) in objects.into_iter().enumerate() {
            object["metadata"]["uid"] = json!(number.to_string());
            object["metadata"]["resourceVersion"] = json!((number + 1).to_string());
            drop(store.apply(Event::Applied { kind, object }));
        }
        store.publish(Completeness::all()).expect("a hub")
    }

    fn template(version: &str) -> Value {
        let labels = json!({"addon.open-cluster-management.io/version": version});
        json!({"metadata": {"name": version, "labels": labels}, "spec": {"addonName": "hello", "agentSpec": {}}})
    }

    fn warnings(facts: &Facts, version: &str) -> Vec<String> {
        let (object, hub_namespaces) = (template(version), HubNamespaces::default());
        let subject = Subject::<Template> {
            name: version,
            namespace: "",
            body: Template::read(&object),
            old: None,
            facts,
            blast_radius: BlastRadius::default(),
            hub_namespaces: &hub_namespaces,
            reserved_signers: &ReservedSigners::default(),
            doubts: &Unconfirmed::default(),
            effort: &StepBudget::default(),
        };
        let mut findings = Findings::new();
        super::template_moves(&subject, &mut findings);
        findings.warnings().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_new_template_that_raises_the_default_updates_every_cluster() {
        let facts = hub(&["v1", "v2"]);
        let expected = "metadata.labels[addon.open-cluster-management.io/version]: this edit updates 10 of 10 clusters of \
                        add-on \"hello\" at once (limit 50%) [blast-radius/move]";
        assert_eq!(warnings(&facts, "v3"), [expected]);
        for silent in ["v1.5", "v3-rc.1", "v2.0"] {
            assert_eq!(warnings(&facts, silent), [""; 0], "{silent}");
        }
    }

    #[test]
    fn a_template_that_is_stored_already_updates_no_cluster() {
        assert_eq!(warnings(&hub(&["v1", "v2"]), "v2"), [""; 0]);
    }
}
