//! Commands about registration: CertificateSigningRequests of agents, each with a key of its own, grants, and their status.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plan::CertificateDecision;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};
use store::{Event, Kind, ObjectKey, agent_groups, agent_user};

use super::{Teller, condition_line, key, unknown};
use crate::kit::world::World;

impl World {
    /// Returns whether nothing is left to write but what the hub refuses.
    pub(crate) fn is_settled(&self, addon: &str) -> bool {
        let left = self.plan(addon).actions;
        left.iter().all(|action| self.refused.contains(action.object()))
    }

    /// Refuses every write of an object from now on.
    pub(crate) fn refuse(&mut self, addon: &str, key: ObjectKey, why: &str) {
        self.store
            .trouble(&ObjectKey::addon(&addon.into()), key.clone(), why);
        self.refused.insert(key);
    }

    /// Lets the hub show nothing of a kind.
    pub(crate) fn withhold(&mut self, kind: Kind) {
        self.store.apply(Event::Withheld { kind });
    }

    /// Lets the hub show a kind again.
    pub(crate) fn disclose(&mut self, kind: Kind) {
        let all = self.objects.iter().filter(|(key, _)| key.kind == kind);
        let objects = all.map(|(_, object)| object.clone()).collect();
        self.store.apply(Event::Listed { kind, objects });
    }

    /// Accepts writes of an object again.
    pub(crate) fn accept(&mut self, addon: &str, key: &ObjectKey) {
        self.store.end_trouble(&ObjectKey::addon(&addon.into()), key);
        self.refused.remove(key);
    }
}

/// Carries out one line of a story.
pub(crate) fn act(teller: &mut Teller, words: &[&str], line: &str) {
    let (addon, world, out) = (teller.addon.clone(), &mut teller.world, &mut teller.out);
    match words {
        ["refuse", kind, place, ..] => {
            let why = line.split('"').nth(1).expect("a message in quotes");
            world.refuse(&addon, key(kind, place), why);
        }
        ["accept", kind, place] => world.accept(&addon, &key(kind, place)),
        ["request", name, words @ ..] => request(world, name, words),
        ["show", "object", kind, place] => show(out, world, &key(kind, place)),
        ["show", "grants"] => show_grants(out, world),
        ["show", "registration", cluster] => {
            show_standing(out, world, &ObjectKey::new(Kind::Instance, *cluster, addon));
        }
        other => unknown(other),
    }
}

/// Returns the line for an answer to a request.
pub(crate) fn describe(object: &ObjectKey, answer: &CertificateDecision) -> String {
    match answer {
        CertificateDecision::Approve(..) => format!("  approve {object}"),
        CertificateDecision::Sign(signing) => format!(
            "  sign {object} with {}/{}",
            signing.signer.namespace, signing.signer.name
        ),
    }
}

/// `request <name> [of=<cluster>] [by=<user>] [signer=<name>] [user=<common name>] [group=<organization>]…`
///
/// What is left out is what the agent of add-on `hello` on cluster `c1` would ask its hub for.
fn request(world: &mut World, name: &str, words: &[&str]) {
    let word = |key: &str| {
        words
            .iter()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    };
    let cluster = word("of").unwrap_or("c1");
    let own = format!("system:open-cluster-management:{cluster}:x7f2q");
    let mut groups: Vec<String> = words
        .iter()
        .filter_map(|word| word.strip_prefix("group="))
        .map(ToOwned::to_owned)
        .collect();
    if groups.is_empty() && word("user").is_none() {
        groups = agent_groups(cluster, "hello").into();
    }
    let user = word("user").map_or_else(|| agent_user(cluster, "hello"), ToOwned::to_owned);
    let object = json!({
        "metadata": {"name": name, "labels": {
            "open-cluster-management.io/addon-name": "hello",
            "open-cluster-management.io/cluster-name": cluster,
        }},
        "spec": {
            "request": STANDARD.encode(pem(&user, &groups)),
            "signerName": word("signer").unwrap_or("kubernetes.io/kube-apiserver-client"),
            "username": word("by").unwrap_or(&own),
            "usages": ["digital signature", "key encipherment", "client auth"],
        },
    });
    world.put(Kind::SigningRequest, object);
}

/// Returns a certification request as PEM.
fn pem(user: &str, groups: &[String]) -> String {
    let names = vec!["hello.addon.open-cluster-management.io".to_owned()];
    let mut params = CertificateParams::new(names).expect("a DNS name");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, user);
    // The library keeps one value for each name of an attribute; these are two names of one.
    let kinds = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
    assert!(groups.len() <= kinds.len(), "a story needs no more groups");
    for (kind, group) in kinds.into_iter().zip(groups) {
        params.distinguished_name.push(kind, group.as_str());
    }
    let key = KeyPair::generate().expect("a key");
    let request = params.serialize_request(&key).expect("a request");
    request.pem().expect("PEM")
}

/// Prints an object, without what the hub adds.
fn show(out: &mut String, world: &World, key: &ObjectKey) {
    let Some(object) = world.objects.get(key) else {
        writeln!(out, "  {key}: absent").expect("a string takes text");
        return;
    };
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| ["labels", "annotations", "ownerReferences"].contains(&field.as_str()));
    }
    let text = serde_json::to_string_pretty(&object).expect("JSON");
    writeln!(out, "  {key}\n  {}", text.replace('\n', "\n  ")).expect("a string takes text");
}

/// Prints every service account, role, role binding and request.
fn show_grants(out: &mut String, world: &World) {
    let mut none = true;
    for (key, object) in world
        .objects
        .iter()
        .filter(|(key, _)| key.kind.is_for_registration())
    {
        none = false;
        let role = object["roleRef"]["name"].as_str();
        let role = role.map(|role| format!(" {role}")).unwrap_or_default();
        let subjects = object["subjects"].as_array().into_iter().flatten();
        let subjects: Vec<&str> = subjects.filter_map(|one| one["name"].as_str()).collect();
        let to = if subjects.is_empty() {
            String::new()
        } else {
            format!(" → {}", subjects.join(", "))
        };
        let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
        let words = conditions
            .into_iter()
            .flatten()
            .filter_map(|one| one["type"].as_str());
        let words: String = words.fold(String::new(), |all, word| all + " " + word);
        let issued = object.pointer("/status/certificate").map_or("", |_| " Issued");
        writeln!(out, "  {key}{role}{to}{words}{issued}").expect("a string takes text");
    }
    if none {
        out.push_str("  nothing\n");
    }
}

/// Prints the registration status of an instance.
fn show_standing(out: &mut String, world: &World, key: &ObjectKey) {
    let Some(instance) = world.objects.get(key) else {
        writeln!(out, "  {key}: absent").expect("a string takes text");
        return;
    };
    let status = &instance["status"];
    writeln!(
        out,
        "  {key} namespace={} driver={}",
        status["namespace"], status["kubeClientDriver"]
    )
    .expect("text");
    for one in status["registrations"].as_array().into_iter().flatten() {
        writeln!(out, "    {one}").expect("a string takes text");
    }
    let ours = [
        "RegistrationApplied",
        "TokenInfrastructureReady",
        "CertificateRequestRefused",
        "ManifestApplied",
    ];
    for condition in status["conditions"].as_array().into_iter().flatten() {
        if ours.iter().any(|kind| condition["type"] == *kind) {
            writeln!(out, "    {}", condition_line(condition)).expect("a string takes text");
        }
    }
}
