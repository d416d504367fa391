//! `status.registrations` of a template add-on's instance.
//!
//! Decides who the agent is for each signer. Never touches what the cluster's own agent writes: the driver, and the subject
//! when the driver is `token`.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use store::{
    AgentIdentity, Instance, KUBE_CLIENT_SIGNER, Name, Registered, Registration, agent_groups, agent_user,
};

/// Driver with which the agent shows a token of a service account.
pub(super) const TOKEN: &str = "token";

/// Returns the registrations that the instance should have; borrowed when it has them already.
pub(super) fn registrations<'v>(asked: &[Registration], instance: &'v Instance) -> Cow<'v, [Registered]> {
    let wanted: Vec<(Option<&Name>, AgentIdentity)> = wanted(asked, instance);
    let is_same = |(registered, (signer, identity)): (&Registered, &(Option<&Name>, AgentIdentity))| {
        let same_signer = match signer {
            Some(signer) => registered.signer == **signer,
            None => registered.is_kube_client(),
        };
        same_signer && registered.identity == *identity
    };
    if wanted.len() == instance.registrations.len() && instance.registrations.iter().zip(&wanted).all(is_same)
    {
        return Cow::Borrowed(&instance.registrations);
    }
    let build = |(signer, identity): (Option<&Name>, AgentIdentity)| Registered {
        signer: signer.map_or_else(|| Name::from(KUBE_CLIENT_SIGNER), Name::clone),
        identity,
    };
    Cow::Owned(wanted.into_iter().map(build).collect())
}

/// Signer (`None`: that of the hub's clients) and identity of each registration that can be carried out.
fn wanted<'a>(asked: &'a [Registration], instance: &Instance) -> Vec<(Option<&'a Name>, AgentIdentity)> {
    let mut known = instance.registrations.iter().filter(|one| one.is_kube_client());
    let mut wanted = Vec::with_capacity(asked.len());
    for one in asked {
        match one {
            Registration::KubeClient(_) => {
                let before = known.next().map(|one| one.identity.clone());
                let identity = if *instance.driver == *TOKEN {
                    before.unwrap_or(AgentIdentity::Open)
                } else {
                    AgentIdentity::Agent
                };
                wanted.push((None, identity));
            }
            Registration::CustomSigner { signer, identity, .. } => {
                wanted.push((Some(signer), identity.clone()));
            }
            Registration::Faulty(_) => {}
        }
    }
    wanted
}

/// Returns the registrations as JSON.
pub(super) fn render(registrations: &[Registered], instance: &Instance) -> Value {
    let each = registrations.iter().map(|one| {
        let mut rendered = Map::new();
        rendered.insert("signerName".to_owned(), Value::from(&*one.signer));
        let subject = match &one.identity {
            AgentIdentity::Open => None,
            AgentIdentity::Agent => Some(json!({
                "user": agent_user(&instance.cluster, &instance.addon),
                "groups": agent_groups(&instance.cluster, &instance.addon),
            })),
            AgentIdentity::Stated(subject) => {
                let mut stated = Map::new();
                let list =
                    |names: &[Name]| -> Value { names.iter().map(|name| Value::from(&**name)).collect() };
                if !subject.user.is_empty() {
                    stated.insert("user".to_owned(), Value::from(&*subject.user));
                }
                if !subject.groups.is_empty() {
                    stated.insert("groups".to_owned(), list(&subject.groups));
                }
                if !subject.units.is_empty() {
                    stated.insert("organizationUnit".to_owned(), list(&subject.units));
                }
                Some(Value::Object(stated))
            }
        };
        rendered.extend(subject.map(|subject| ("subject".to_owned(), subject)));
        Value::Object(rendered)
    });
    each.collect()
}

/// What registration says in the status of one instance, beside its conditions.
#[derive(Debug, Default)]
pub(crate) struct Registering<'v> {
    /// `registrations`; absent leaves what stands there.
    pub(super) registrations: Option<Cow<'v, [Registered]>>,
    /// `namespace`; absent leaves what stands there.
    pub(super) namespace: Option<String>,
}

impl Registering<'_> {
    /// Returns the fields of the status that change.
    pub(crate) fn changes(&self, instance: &Instance) -> Map<String, Value> {
        let mut fields = Map::new();
        if let Some(wanted) = self
            .registrations
            .as_ref()
            .filter(|wanted| ***wanted != *instance.registrations)
        {
            fields.insert("registrations".to_owned(), render(wanted, instance));
        }
        if let Some(namespace) = &self.namespace {
            fields.insert("namespace".to_owned(), Value::from(namespace.as_str()));
        }
        fields
    }
}
