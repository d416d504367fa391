//! Registration of one add-on's instances, one after the other.
//!
//! Decides what of it is in each status, and gathers the writes beside it. Grants and answers follow the content that the
//! specs give the instance and that it is assigned: a status alone, which a cluster can write, never gives anything. What is
//! unknown stays as it is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::certificates::{self, Refusal};
use super::entitled::Entitled;
use super::grants::{KnownGrants, WantedGrant, Writes, writes};
use super::identity::Registering;
use super::permissions::{Bindings, Hindrance};
use super::{identity, namespace, permissions, readiness, token};
use crate::conditions::ocm;
use crate::conditions::{Wish, merge, render};
use crate::config::is_template as is_of_template;
use crate::render_cache::contents;
use crate::report::Report;
use crate::rollout::Member;
use crate::types::{Action, Revision, WaitOn};
use crate::work::Rendering;
use api::names::conditions;
use api::reason::Reason;
use store::{
    Condition, Content, Instance, Kind, Layering, Name, ObjectKey, Reference, Registered, Request, Stage,
    Status, Template, View,
};

/// Condition that tells why a certificate request is left alone.
const REFUSED: &str = conditions::CERTIFICATE_REQUEST_REFUSED;
const CONFIGURED: &str = "Registration of the addon agent is configured";

/// What registration wishes to say in conditions.
#[derive(Debug, Default)]
struct RegistrationMessages {
    wishes: Vec<Wish<'static>>,
    drops: Vec<&'static str>,
}

/// What is known of an instance's registration.
#[derive(Debug)]
enum Basis<'v> {
    /// Another program deploys the add-on.
    NotOurs,
    /// It is not known, so everything stays as it is.
    Unknown,
    /// It has what the specs give it: grants follow.
    Whole(Entitled<'v>),
    /// It has something else: these certificates are right all the same.
    Part(Entitled<'v>),
}

/// Registers the instances of one add-on.
#[derive(Debug)]
pub(crate) struct Registrar<'v> {
    view: View<'v>,
    requests: BTreeMap<&'v Name, Vec<&'v Request>>,
    wanted: Vec<WantedGrant<'v>>,
    known: KnownGrants<'v>,
    answers: Vec<Action>,
    last: Option<CachedSource<'v>>,
    /// Whether there is anything that could be too much.
    has_grants: bool,
}

/// The content of one instance, and what tells whether it is that of another as well.
#[derive(Debug)]
struct CachedSource<'v> {
    /// Names and hashes of the assigned configurations.
    assigned: Vec<(Name, Name)>,
    layering: Layering,
    install_namespace: Name,
    source: Source<'v>,
}

/// The content that an instance is registered from.
#[derive(Debug, Clone)]
struct Source<'v> {
    template: &'v Template,
    /// The agent's namespace with the name of the cluster left open.
    namespace: Arc<str>,
}

impl<'v> Registrar<'v> {
    pub(crate) fn new(view: &View<'v>) -> Self {
        let mut requests: BTreeMap<&Name, Vec<&Request>> = BTreeMap::new();
        for request in view.requests().filter(|request| request.stage != Stage::Settled) {
            requests.entry(&request.cluster).or_default().push(request);
        }
        Self {
            view: *view,
            requests,
            wanted: Vec::new(),
            known: KnownGrants::default(),
            answers: Vec::new(),
            last: None,
            has_grants: view.grants().next().is_some(),
        }
    }

    /// Adds to a report what registration has to say, and notes the writes beside it.
    pub(crate) fn amend(
        &mut self,
        report: &mut Report<'v>,
        member: &Member<'v>,
        rendering: &Rendering<'_>,
        now: Timestamp,
    ) {
        let instance = report.instance;
        let mut said = RegistrationMessages::default();
        let source = match rendering {
            Rendering::Bodies(_) => self.source(member),
            Rendering::NotOurs | Rendering::Waiting(_) | Rendering::Refused(_) => None,
        };
        if let Some(source) = &source {
            report.registering = standing(source, instance);
        }
        let basis = match rendering {
            Rendering::NotOurs => Basis::NotOurs,
            Rendering::Bodies(_) | Rendering::Waiting(WaitOn::Content(_)) => self.basis(member),
            Rendering::Waiting(_) | Rendering::Refused(_) => Basis::Unknown,
        };
        match &basis {
            Basis::Whole(entitled) => self.register(entitled, instance, &mut said),
            Basis::NotOurs if !member.assigned.iter().any(is_template) => self.knows_permissions(instance),
            Basis::NotOurs | Basis::Part(_) | Basis::Unknown => {}
        }
        match &basis {
            Basis::Whole(entitled) | Basis::Part(entitled) => {
                self.certify(instance, entitled, now, &mut said);
                self.token(instance, Some(entitled.is_client()), &mut said);
            }
            // The infrastructure serves every program; it is all that the choice of an agent brings about.
            Basis::NotOurs => {
                let is_client = instance.registrations.iter().any(Registered::is_kube_client);
                self.token(instance, Some(is_client), &mut said);
            }
            Basis::Unknown => {
                self.leave_alone(instance, &mut said);
                self.token(instance, None, &mut said);
            }
        }
        said.wishes = ocm::bared(&self.view, said.wishes);
        said.tell(report, now);
        readiness::amend(&self.view, report, now);
    }

    /// Returns what the instance is entitled to: by the template that the specs give it, and that it is assigned. While it is
    /// assigned another one, what both ask for; while that other one is not known any more, its own name on the hub, which
    /// is the same in each.
    fn basis(&mut self, member: &Member<'v>) -> Basis<'v> {
        let instance = member.instance;
        let due = due(&self.view, member);
        let (addon, cluster) = (&self.view.addon.name, &instance.cluster);
        let Some((due, entitled)) =
            due.and_then(|due| Some((due, Entitled::of(due, addon, cluster, self.view.settings())?)))
        else {
            return Basis::Unknown;
        };
        let assigned = self.source(member).map(|source| source.template);
        match assigned {
            Some(assigned) if std::ptr::eq(assigned, due) => Basis::Whole(entitled),
            Some(assigned) => Basis::Part(entitled.and(assigned)),
            None => Basis::Part(entitled.of_the_hub()),
        }
    }

    /// Returns every write that is left beside the statuses, and the clusters with which registration is not done.
    pub(crate) fn finish(self) -> (Vec<Action>, Vec<&'v Name>) {
        let Writes {
            mut actions,
            clusters: mut open,
        } = writes(&self.view, self.wanted, &self.known);
        actions.extend(self.answers);
        open.extend(self.requests.into_keys());
        (actions, open)
    }

    /// What an instance that is being deleted had to fetch tokens with goes at once, as far as a condition has told of it.
    pub(crate) fn part(&mut self, instance: &'v Instance) {
        let stood = instance
            .condition(conditions::TOKEN_INFRASTRUCTURE_READY)
            .is_some();
        if stood && self.has_grants && self.view.is_clusters_own(&instance.cluster) {
            self.known.tokens.insert(&instance.cluster);
        }
    }

    fn register(&mut self, entitled: &Entitled<'v>, instance: &'v Instance, said: &mut RegistrationMessages) {
        if entitled.is_nothing() {
            self.knows_permissions(instance);
            said.registered(Status::True, Reason::NilRegistration, CONFIGURED);
            return;
        }
        if !self.view.is_clusters_own(&instance.cluster) {
            said.permission_failed(&format!(
                "namespace {:?} is not the namespace of a cluster",
                instance.cluster
            ));
            return;
        }
        match permissions::bindings(&self.view, entitled, instance) {
            Err(Hindrance::Faulty(why)) => said.permission_failed(&why),
            Err(Hindrance::SubjectNotReady) => {
                let why = "registration subject not ready";
                said.registered(Status::False, Reason::PermissionConfigPending, why);
            }
            Ok(Bindings { wanted, held }) => {
                self.permit(&wanted, &held, said);
                self.knows_permissions(instance);
                self.wanted.extend(wanted);
            }
        }
    }

    fn knows_permissions(&mut self, instance: &'v Instance) {
        if self.has_grants {
            self.known.permissions.insert(&instance.cluster);
        }
    }

    /// The first permission that is held gives the words.
    fn permit(&self, wanted: &[WantedGrant<'_>], held: &[String], said: &mut RegistrationMessages) {
        let view = &self.view;
        if let Some(why) = held.first() {
            let more = held.len().saturating_sub(1);
            let more = if more == 0 {
                String::new()
            } else {
                format!(" (and {more} more)")
            };
            return said.permission_failed(&format!("{why}{more}"));
        }
        if let Some(why) = wanted.iter().find_map(|one| view.trouble(&one.key)) {
            return said.permission_failed(why);
        }
        let stands = |one: &WantedGrant<'_>| view.grant(&one.key).is_some_and(|grant| one.stands(grant));
        if wanted.iter().all(stands) {
            said.registered(Status::True, Reason::SetPermissionApplied, CONFIGURED);
        } else {
            let why = "the permissions of the agent are being written";
            said.registered(Status::False, Reason::PermissionConfigPending, why);
        }
    }

    /// The first request that is left alone, by name, gives the words: a flood of requests cannot make them grow.
    fn certify(
        &mut self,
        instance: &Instance,
        entitled: &Entitled<'_>,
        now: Timestamp,
        said: &mut RegistrationMessages,
    ) {
        let entitled = if token::is_used(instance) {
            entitled.of_own_signers()
        } else {
            *entitled
        };
        let grpc_server = &*self.view.settings().grpc_server;
        let mut refused: Option<(&Name, Refusal)> = None;
        for request in self.requests.get(&instance.cluster).into_iter().flatten() {
            let refusal = match certificates::answer(request, &entitled, grpc_server, now) {
                Ok(None) => None,
                Ok(Some(action)) => {
                    self.answers.push(action);
                    let why = self.view.trouble(&certificates::key(request));
                    why.map(|why| Refusal {
                        reason: Reason::CertificateNotIssued,
                        why: why.to_string(),
                    })
                }
                Err(refusal) => Some(refusal),
            };
            if let (None, Some(refusal)) = (&refused, refusal) {
                refused = Some((&request.name, refusal));
            }
        }
        said.refused(refused);
    }

    fn leave_alone(&self, instance: &Instance, said: &mut RegistrationMessages) {
        let first = self.requests.get(&instance.cluster).and_then(|all| all.first());
        let refused = first.map(|request| {
            let why = "the identity of the agent cannot be determined, because no known configuration is assigned to the cluster";
            let reason = Reason::RegistrationUnknown;
            (
                &request.name,
                Refusal {
                    reason,
                    why: why.to_owned(),
                },
            )
        });
        said.refused(refused);
    }

    /// `is_client` is absent while that is not known: then what stands there stays.
    fn token(&mut self, instance: &'v Instance, is_client: Option<bool>, said: &mut RegistrationMessages) {
        if !self.view.is_clusters_own(&instance.cluster) {
            // No permission is granted there; the permissions of a cluster that is absent for the moment are kept.
            return;
        }
        if is_client.is_none() && token::is_used(instance) {
            return;
        }
        if self.has_grants {
            self.known.tokens.insert(&instance.cluster);
        }
        if !token::is_used(instance) || is_client == Some(false) {
            said.drops.push(conditions::TOKEN_INFRASTRUCTURE_READY);
            return;
        }
        let wanted = token::wanted(&self.view, instance);
        said.wishes
            .extend(token::condition(&self.view, instance, &wanted));
        self.wanted.extend(wanted);
    }

    /// Returns the content that the instance is registered from. Neighbours mostly share it, so the last one is kept.
    fn source(&mut self, member: &Member<'v>) -> Option<Source<'v>> {
        let namespace = &member.instance.install_namespace;
        let same = |kept: &&CachedSource<'v>| {
            kept.install_namespace == *namespace
                && kept.layering == member.layering
                && kept.assigned.len() == member.assigned.len()
                && kept
                    .assigned
                    .iter()
                    .zip(&*member.assigned)
                    .all(|((name, hash), one)| {
                        Arc::ptr_eq(name, &one.config.name) && Arc::ptr_eq(hash, &one.desired)
                    })
        };
        if let Some(kept) = self.last.as_ref().filter(same) {
            return Some(kept.source.clone());
        }
        let source = source(&self.view, member)?;
        let pair = |one: &Reference| (one.config.name.clone(), one.desired.clone());
        self.last = Some(CachedSource {
            assigned: member.assigned.iter().map(pair).collect(),
            layering: member.layering,
            install_namespace: namespace.clone(),
            source: source.clone(),
        });
        Some(source)
    }
}

/// What `status.registrations` and `status.namespace` say: they tell the cluster's agent what to ask for, and give it nothing.
fn standing<'v>(source: &Source<'v>, instance: &'v Instance) -> Registering<'v> {
    Registering {
        namespace: changed_namespace(&source.namespace, instance),
        registrations: Some(identity::registrations(&source.template.registrations, instance)),
    }
}

/// Returns the template that the instance should run with in the end, by the specs.
fn due<'v>(view: &View<'v>, member: &Member<'_>) -> Option<&'v Template> {
    let effective = &member.effective;
    if effective.unsupported.is_some() || effective.bad_version.is_some() {
        return None;
    }
    let desired = effective.refs.iter().find(|one| is_of_template(&one.config.of))?;
    let found = view
        .content(&desired.config, &desired.hash)
        .filter(|_| desired.fault.is_none())?;
    match &*found.content {
        Content::Template(template) => Some(template),
        Content::Deployment(_) | Content::Hub => None,
    }
}

fn source<'v>(view: &View<'v>, member: &Member<'v>) -> Option<Source<'v>> {
    let (template, config) = contents(view, &member.assigned, member.layering);
    let template = template?;
    let install_namespace = &member.instance.install_namespace;
    let unset = view.settings().unset_variables;
    let namespace = namespace::agent_namespace(template, config.as_deref(), install_namespace, unset);
    Some(Source {
        template,
        namespace: namespace.into(),
    })
}

fn is_template(one: &Reference) -> bool {
    is_of_template(&one.config.of)
}

fn changed_namespace(open: &str, instance: &Instance) -> Option<String> {
    if namespace::is_closed(open) {
        return (*open != *instance.namespace).then(|| open.to_owned());
    }
    let namespace = namespace::on_cluster(open, &instance.cluster);
    (*namespace != *instance.namespace).then_some(namespace)
}

impl RegistrationMessages {
    fn registered(&mut self, status: Status, reason: Reason, message: impl Into<Cow<'static, str>>) {
        let wish = Wish::new(conditions::REGISTRATION_APPLIED, status, reason, message);
        self.wishes.push(wish);
    }

    fn refused(&mut self, refused: Option<(&Name, Refusal)>) {
        match refused {
            None => self.drops.push(REFUSED),
            Some((name, Refusal { reason, why })) => {
                let message = format!("{name}: {why}");
                self.wishes
                    .push(Wish::new(REFUSED, Status::True, reason, message));
            }
        }
    }

    fn permission_failed(&mut self, why: &str) {
        let message = format!("Failed to set permission for hub agent: {why}");
        self.registered(Status::False, Reason::SetPermissionFailed, message);
    }

    fn is_dropped(&self, condition: &Condition) -> bool {
        self.drops.iter().any(|kind| **kind == *condition.kind)
    }

    fn tell(&self, report: &mut Report<'_>, now: Timestamp) {
        let generation = Some(report.instance.meta.generation);
        if let Some(told) = self.told(&report.conditions, generation, now) {
            report.conditions = Cow::Owned(told);
        }
    }

    /// Returns the conditions after what is said, if that changes anything.
    fn told(
        &self,
        observed: &[Condition],
        generation: Option<i64>,
        now: Timestamp,
    ) -> Option<Vec<Condition>> {
        let merged = merge(observed, &self.wishes, generation, now);
        let drops = merged.iter().any(|condition| self.is_dropped(condition));
        if matches!(merged, Cow::Borrowed(_)) && !drops {
            return None;
        }
        let kept = merged.iter().filter(|condition| !self.is_dropped(condition));
        Some(kept.cloned().collect())
    }
}

/// Returns the writes for an add-on that manages itself, or is being removed: the token infrastructure serves every instance,
/// whichever program manages its add-on, and is deleted with it. Permissions of deleted instances are deleted as well.
pub(crate) fn unmanaged(view: &View<'_>, now: Timestamp) -> Vec<Action> {
    beside_others(view, &mut Registrar::new(view), now)
}

/// Returns the writes for an add-on that another manager has, or that the hub does not show: only the token infrastructure.
pub(crate) fn of_others(view: &View<'_>, now: Timestamp) -> Vec<Action> {
    let mut registrar = Registrar::new(view);
    registrar.known.only_tokens = true;
    beside_others(view, &mut registrar, now)
}

fn beside_others<'v>(view: &View<'v>, registrar: &mut Registrar<'v>, now: Timestamp) -> Vec<Action> {
    let mut actions = Vec::new();
    for instance in view.instances() {
        if instance.meta.deleting {
            registrar.part(instance);
            continue;
        }
        let mut said = RegistrationMessages::default();
        let is_client = instance.registrations.iter().any(Registered::is_kube_client);
        registrar.token(instance, Some(is_client), &mut said);
        let generation = Some(instance.meta.generation);
        said.wishes = ocm::bared(view, said.wishes);
        if let Some(told) = said.told(&instance.conditions, generation, now) {
            actions.push(Action::Status {
                object: ObjectKey::new(Kind::Instance, instance.cluster.clone(), instance.addon.clone()),
                before: Revision::from(&instance.meta),
                patch: json!({"status": {"conditions": render(&told)}}).into(),
                notes: Vec::new(),
                notifications: Vec::new(),
            });
        }
    }
    let wanted = std::mem::take(&mut registrar.wanted);
    actions.extend(writes(view, wanted, &registrar.known).actions);
    actions
}
