//! The only code that writes what a plan says: creates, merge patches, status patches and deletions, each with its precondition.
//!
//! Decides nothing. A write that meets another revision than it was planned from fails, and its owner is planned for again.
//! Never begins a write after shutdown was requested, or after another replica or OCM's manager has begun to write.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt;
use futures::stream;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, Resource as _};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use super::apply_error::{ApplyError, failed};
use super::event_budget::InvolvedObject;
use super::event_recorder::EventRecorder;
use super::pruned_fields::PrunedFields;
use super::raw::{Raw, resource};
use crate::controllers::notifier::Notifier;
use crate::controllers::sign::{certificate, secret_of};
use crate::controllers::tide::Progress;
use crate::telemetry::{Metrics, Written};
use kubernetes::bounds::members;
use plan::{Action, CertificateDecision, Notification, Payload, Plan, Revision};
use store::{Expected, Kind, Name, ObjectKey, WriteQueue, terms};

/// Name under which the API server records our writes.
const FIELD_MANAGER: &str = terms::FIELD_MANAGER;

/// What became of a plan.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// What the watches must show before the next plan.
    pub(super) expected: Vec<(ObjectKey, Expected)>,
    /// The clusters from which an instance was taken away; that its last finalizer goes later is no second removal.
    pub(super) removed: Vec<Name>,
    /// Writes that did not happen.
    pub(super) errors: Vec<ApplyError>,
}

/// What every write needs.
#[derive(Clone)]
pub(super) struct Writer {
    pub(super) client: Client,
    /// Sender of writes to observers.
    pub(super) progress: broadcast::Sender<Progress>,
    /// Recorder of events on the hub.
    pub(super) recorder: EventRecorder,
    /// Where notifications are sent, and what identifies the hub in them.
    pub(super) notifier: Option<(Notifier, Name)>,
    /// Ends the writing after the write in progress.
    pub(super) stop: CancellationToken,
    /// How many namespaces are written to at the same time.
    pub(super) at_once: usize,
    /// Namespace of signers' secrets, where the template names none.
    pub(super) signing_namespace: Name,
    /// What the hub does not keep of a status.
    pub(super) pruned: PrunedFields,
    /// Whether this replica is the one that writes.
    pub(super) leading: watch::Receiver<bool>,
    /// Whether the add-on is that of OCM's add-on manager at this moment.
    pub(super) fence: watch::Receiver<store::Fence>,
    /// Where writes are counted.
    pub(super) metrics: Metrics,
}

impl Writer {
    fn may_send(&self) -> bool {
        !self.stop.is_cancelled() && *self.leading.borrow() && !self.fence.borrow().is_closed()
    }
}

/// Applies a plan: the writes of one lane in their order, lanes beside each other, the cluster-scoped ones last.
pub(super) async fn apply_plan(writer: Writer, subject: InvolvedObject, plan: Plan) -> Applied {
    let mut groups: BTreeMap<WriteQueue, Vec<Action>> = BTreeMap::new();
    for action in plan.actions {
        groups.entry(action.object().lane()).or_default().push(action);
    }
    let hub = groups.remove(&(Name::from(""), None)).unwrap_or_default();
    let each = groups
        .into_values()
        .map(|actions| apply_group(&writer, &subject, actions));
    let mut all: Vec<Applied> = stream::iter(each)
        .buffer_unordered(writer.at_once.max(1))
        .collect()
        .await;
    all.push(apply_group(&writer, &subject, hub).await);
    all.into_iter().fold(Applied::default(), |mut sum, part| {
        sum.expected.extend(part.expected);
        sum.removed.extend(part.removed);
        sum.errors.extend(part.errors);
        sum
    })
}

/// The first write that fails ends its group: what follows may rely on it.
async fn apply_group(writer: &Writer, subject: &InvolvedObject, actions: Vec<Action>) -> Applied {
    let mut applied = Applied::default();
    for mut action in actions {
        rebase(&mut action, &applied.expected);
        if !writer.may_send() {
            break;
        }
        let news = News::of(&action);
        let object = action.object().clone();
        let removes = matches!(action, Action::Delete { .. }) && object.kind == Kind::Instance;
        let outcome = apply_one(writer, action).await;
        writer
            .metrics
            .wrote(object.kind.address().resource, written(&outcome));
        match outcome {
            Ok(expected) => {
                news.tell(writer, subject, &object);
                applied.removed.extend(removes.then(|| object.namespace.clone()));
                applied
                    .expected
                    .extend(expected.map(|expected| (object, expected)));
            }
            Err(error) => {
                applied.errors.push(error);
                break;
            }
        }
    }
    applied
}

fn written(outcome: &Result<Option<Expected>, ApplyError>) -> Written {
    match outcome {
        Ok(_) => Written::Done,
        Err(ApplyError::Conflict { .. }) => Written::Conflict,
        Err(
            ApplyError::Hidden { .. }
            | ApplyError::NoChange { .. }
            | ApplyError::Sign { .. }
            | ApplyError::Write { .. },
        ) => Written::Failed,
    }
}

/// A plan may write twice to one object, its metadata and its status: the second write goes on from what the first one made.
fn rebase(action: &mut Action, written: &[(ObjectKey, Expected)]) {
    let object = action.object().clone();
    let newest = written.iter().rev().find(|(known, _)| *known == object);
    if let (Some((_, Expected::Version(version))), Some(before)) = (newest, action.before_mut()) {
        before.version = version.clone();
    }
}

/// What is to be told when a write has happened.
enum News {
    /// Changes of state, with the uid of what they are about, and notifications.
    Notes(Name, Vec<Progress>, Vec<Notification>),
    /// An instance was deleted: its uid, and why.
    Removed(Name, &'static str),
    Nothing,
}

impl News {
    fn of(action: &Action) -> Self {
        match action {
            Action::Status {
                before,
                notes,
                notifications,
                ..
            } if !notes.is_empty() || !notifications.is_empty() => {
                Self::Notes(before.uid.clone(), notes.clone(), notifications.clone())
            }
            Action::Delete { object, before, why } if object.kind == Kind::Instance => {
                Self::Removed(before.uid.clone(), why)
            }
            Action::Create { .. }
            | Action::Replace { .. }
            | Action::Status { .. }
            | Action::Delete { .. }
            | Action::Certify { .. } => Self::Nothing,
        }
    }

    fn tell(self, writer: &Writer, subject: &InvolvedObject, object: &ObjectKey) {
        match self {
            Self::Nothing => {}
            Self::Removed(uid, why) => writer.recorder.removed(subject, object, &uid, why),
            Self::Notes(uid, notes, notifications) => {
                if let Some((notifier, hub)) = &writer.notifier {
                    for notification in &notifications {
                        notifier.notify(hub, notification);
                    }
                }
                for note in notes {
                    let cluster = note.cluster().map_or("", |cluster| &**cluster);
                    let (reason, message) = (note.reason(), note.message());
                    info!(owner = %note.owner(), cluster, reason = reason.as_str(), message, "state changed");
                    writer.recorder.note(subject, object, &uid, &note);
                    // An error only says that there is no receiver.
                    let _sent = writer.progress.send(note).ok();
                }
            }
        }
    }
}

async fn apply_one(writer: &Writer, action: Action) -> Result<Option<Expected>, ApplyError> {
    let object = action.object().clone();
    let api = api(&writer.client, &object);
    match action {
        Action::Create { body, why, .. } => {
            let params = PostParams {
                field_manager: Some(FIELD_MANAGER.to_owned()),
                ..PostParams::default()
            };
            let created = api.create(&params, &Raw::to_send(body.text())).await;
            let created = created.map_err(|error| failed("create", &object, error))?;
            info!(%object, why, "created");
            Ok(seen(&created))
        }
        Action::Replace {
            before, patch, why, ..
        } => {
            let patch = Patch::Merge(fitting(&object, &patch, &before));
            let patched = api.patch(&object.name, &patching(), &patch).await;
            let patched = patched.map_err(|error| failed("patch", &object, error))?;
            info!(%object, why, "patched");
            if is_deleted(&patched) {
                return Ok(Some(Expected::Removed(before.uid)));
            }
            changed(object, &before, seen(&patched))
        }
        Action::Status { before, patch, .. } => write_status(writer, &api, object, &before, patch).await,
        Action::Delete { before, why, .. } => {
            let conditions = Preconditions {
                uid: Some(before.uid.to_string()),
                resource_version: Some(before.version.to_string()),
            };
            match api
                .delete(
                    &object.name,
                    &DeleteParams::background().preconditions(conditions),
                )
                .await
            {
                Ok(_) => info!(%object, why, "deleted"),
                Err(kube::Error::Api(status)) if status.code == 404 => debug!(%object, "already deleted"),
                Err(error) => return Err(failed("delete", &object, error)),
            }
            Ok(Some(Expected::Gone(before.uid)))
        }
        Action::Certify { before, answer, .. } => certify(writer, object, &before, answer).await,
    }
}

/// What the hub does not keep is not sent to it.
async fn write_status(
    writer: &Writer,
    api: &Api<Raw>,
    object: ObjectKey,
    before: &Revision,
    patch: Payload,
) -> Result<Option<Expected>, ApplyError> {
    let Some(patch) = writer.pruned.strip(object.kind, patch) else {
        return Ok(None);
    };
    let written = with_metadata(patch.text(), &guard(before));
    let patched = api
        .patch_status(&object.name, &patching(), &Patch::Merge(&written))
        .await;
    let patched = patched.map_err(|error| failed("patch the status of", &object, error))?;
    debug!(%object, "status written");
    if writer.pruned.learn(object.kind, patch.text(), patched.text()) {
        return Ok(None);
    }
    changed(object, before, seen(&patched))
}

fn patching() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// Approval and certificate have endpoints of their own.
async fn certify(
    writer: &Writer,
    object: ObjectKey,
    before: &Revision,
    answer: CertificateDecision,
) -> Result<Option<Expected>, ApplyError> {
    let unsigned = |source| ApplyError::Sign {
        object: object.clone(),
        source: Box::new(source),
    };
    let (endpoint, verb, patch) = match answer {
        CertificateDecision::Approve(patch, None) => ("approval", "approve", patch),
        CertificateDecision::Approve(patch, Some(signer)) => {
            let asked = secret_of(&writer.client, &signer, &writer.signing_namespace).await;
            asked.map_err(unsigned)?;
            ("approval", "approve", patch)
        }
        CertificateDecision::Sign(signing) => {
            let signed = certificate(&writer.client, &signing, &writer.signing_namespace, &before.uid).await;
            let pem = signed.map_err(unsigned)?;
            let patch = json!({"status": {"certificate": STANDARD.encode(pem)}});
            ("status", "write the certificate of", patch)
        }
    };
    let patch = Patch::Merge(guarded(patch, before));
    let api = api(&writer.client, &object);
    let patched = api
        .patch_subresource(endpoint, &object.name, &patching(), &patch)
        .await;
    let patched = patched.map_err(|error| failed(verb, &object, error))?;
    info!(%object, endpoint, "answered");
    changed(object, before, seen(&patched))
}

fn api(client: &Client, object: &ObjectKey) -> Api<Raw> {
    let resource = resource(object.kind);
    if object.kind.address().namespaced {
        Api::namespaced_with(client.clone(), &object.namespace, &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    }
}

fn seen(raw: &Raw) -> Option<Expected> {
    let version = raw.meta().resource_version.as_deref()?;
    Some(Expected::Version(Name::from(version)))
}

/// Whether a patch has taken the last finalizer of an object that is being deleted: the object goes at that moment, and the
/// answer shows it as it was stored last, with the revision of before. Something was changed all the same.
fn is_deleted(raw: &Raw) -> bool {
    let held = raw.meta().finalizers.as_ref();
    raw.meta().deletion_timestamp.is_some() && held.is_none_or(Vec::is_empty)
}

/// A write that changes nothing would be planned again at once, and indefinitely.
fn changed(
    object: ObjectKey,
    before: &Revision,
    seen: Option<Expected>,
) -> Result<Option<Expected>, ApplyError> {
    match seen {
        Some(Expected::Version(version)) if version == before.version => Err(ApplyError::NoChange { object }),
        other => Ok(other),
    }
}

/// Adds the revision to the merge patch of an object, so that the API server refuses it on any other one. A patch of a cluster
/// names one label, which is ours whatever else is on the cluster: all add-ons and the cluster's agent write to it, and a
/// revision would make each wait for all others. Only that it is the same cluster counts.
fn fitting(object: &ObjectKey, patch: &Payload, before: &Revision) -> Box<RawValue> {
    let guard = if object.kind == Kind::Cluster {
        json!({"uid": &*before.uid})
    } else {
        guard(before)
    };
    with_metadata(patch.text(), &guard)
}

/// Adds metadata to the text of a patch. Only its metadata is read: a spec can be large.
fn with_metadata(patch: &str, added: &Value) -> Box<RawValue> {
    let mut metadata = json!({});
    let mut text = String::with_capacity(patch.len() + 128);
    let read = members(patch, |name, member| {
        if name == "metadata" {
            metadata = serde_json::from_str(member.get()).unwrap_or_default();
        } else {
            // Writing to a string cannot fail.
            let _written = write!(text, "{}:{},", Value::from(name), member.get());
        }
    });
    json_patch::merge(&mut metadata, added);
    let text = format!(r#"{{{text}"metadata":{metadata}}}"#);
    read.and_then(|()| RawValue::from_string(text))
        .expect("a patch is made from a value")
}

/// The revision in the metadata of a patch.
fn guard(before: &Revision) -> Value {
    json!({"uid": &*before.uid, "resourceVersion": &*before.version})
}

/// Adds the revision to a merge patch, so that the API server refuses it on any other one.
fn guarded(mut patch: Value, before: &Revision) -> Value {
    json_patch::merge(&mut patch, &json!({"metadata": guard(before)}));
    patch
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;
    use crate::controllers::runtime::event_budget::EventBudget;

    async fn hub() -> devhub::DevHub {
        let crds = api::crds();
        let crds = crds
            .into_iter()
            .map(|crd| serde_json::to_value(crd).expect("a CRD is JSON"));
        let builder = crds.fold(devhub::DevHub::builder(), devhub::Builder::crd);
        builder.start().await.expect("the hub starts")
    }

    fn writer(client: Client) -> Writer {
        Writer {
            progress: broadcast::channel(1).0,
            recorder: EventRecorder::start(client.clone(), EventBudget::default(), CancellationToken::new()),
            notifier: None,
            client,
            stop: CancellationToken::new(),
            at_once: 1,
            signing_namespace: Name::from("signers"),
            pruned: PrunedFields::default(),
            leading: watch::channel(true).1,
            fence: watch::channel(store::Fence::Open).1,
            metrics: Metrics::default(),
        }
    }

    async fn apply(writer: Writer, plan: Plan) -> Applied {
        let subject = InvolvedObject {
            owner: ObjectKey::addon(&"hello".into()),
            uid: None,
        };
        apply_plan(writer, subject, plan).await
    }

    fn object() -> ObjectKey {
        ObjectKey::new(Kind::DeploymentConfig, "default", "base")
    }

    fn create() -> Plan {
        let body = json!({"apiVersion": Kind::DeploymentConfig.api_version(), "kind": "AddOnDeploymentConfig",
            "metadata": {"name": "base", "namespace": "default"}, "spec": {"agentInstallNamespace": "x"}});
        let action = Action::Create {
            object: object(),
            body: body.into(),
            why: "a test",
        };
        Plan {
            actions: vec![action],
            ..Plan::default()
        }
    }

    #[tokio::test]
    async fn a_second_write_to_an_object_goes_on_from_the_first() {
        let hub = hub().await;
        let writer = writer(hub.client());
        let created = apply(writer.clone(), create()).await;
        assert!(created.errors.is_empty(), "{:?}", created.errors);
        let read = || async {
            api(&writer.client, &object())
                .get("base")
                .await
                .expect("it is there")
        };
        let stored = read().await.object();
        let text = |pointer: &str| stored.pointer(pointer).and_then(Value::as_str).map(Name::from);
        let before = Revision {
            uid: text("/metadata/uid").expect("a uid"),
            version: text("/metadata/resourceVersion").expect("a version"),
        };
        let replace = |patch: Value| Action::Replace {
            object: object(),
            before: before.clone(),
            patch: patch.into(),
            why: "a test",
        };
        let actions = vec![
            replace(json!({"metadata": {"finalizers": ["example.com/held"]}})),
            replace(json!({"spec": {"agentInstallNamespace": "y"}})),
        ];
        let plan = |actions| Plan {
            actions,
            ..Plan::default()
        };
        let applied = apply(writer.clone(), plan(actions.clone())).await;
        assert!(applied.errors.is_empty(), "{:?}", applied.errors);
        let written = read().await.object();
        assert_eq!(written["metadata"]["finalizers"], json!(["example.com/held"]));
        assert_eq!(written["spec"]["agentInstallNamespace"], "y");
        // A plan from a revision that is no longer the stored one is refused all the same.
        let again = apply(writer.clone(), plan(actions)).await;
        assert!(
            matches!(again.errors.as_slice(), [ApplyError::Conflict { .. }]),
            "{:?}",
            again.errors
        );
        hub.shutdown().await;
    }

    #[tokio::test]
    async fn a_write_that_changes_nothing_is_an_error() {
        let hub = hub().await;
        let writer = writer(hub.client());
        let created = apply(writer.clone(), create()).await;
        assert!(created.errors.is_empty(), "{:?}", created.errors);
        let stored = api(&writer.client, &object())
            .get("base")
            .await
            .expect("it is there");
        let text = |pointer| {
            stored
                .object()
                .pointer(pointer)
                .and_then(Value::as_str)
                .map(Name::from)
        };
        let before = Revision {
            uid: text("/metadata/uid").expect("a uid"),
            version: text("/metadata/resourceVersion").expect("a version"),
        };
        let replace = |namespace| Plan {
            actions: vec![Action::Replace {
                object: object(),
                before: before.clone(),
                patch: json!({"spec": {"agentInstallNamespace": namespace}}).into(),
                why: "a test",
            }],
            ..Plan::default()
        };
        let same = apply(writer.clone(), replace("x")).await;
        assert!(
            matches!(&*same.errors, [ApplyError::NoChange { .. }]),
            "{:?}",
            same.errors
        );
        let other = apply(writer.clone(), replace("y")).await;
        assert!(
            other.errors.is_empty() && other.expected.len() == 1,
            "{:?}",
            other.errors
        );
        let again = apply(writer.clone(), create()).await;
        assert!(
            matches!(&*again.errors, [ApplyError::Hidden { .. }]),
            "{:?}",
            again.errors
        );
        hub.shutdown().await;
    }

    /// The hub answers such a patch with the object as it was stored last, under its old revision, and takes the object away.
    #[tokio::test]
    async fn the_last_finalizer_of_what_is_being_deleted_is_a_change() {
        let hub = hub().await;
        let writer = writer(hub.client());
        let mut plan = create();
        if let Some(Action::Create { body, .. }) = plan.actions.first_mut() {
            let mut held = body.value();
            json_patch::merge(
                &mut held,
                &json!({"metadata": {"finalizers": ["example.com/held"]}}),
            );
            *body = held.into();
        }
        let created = apply(writer.clone(), plan).await;
        assert!(created.errors.is_empty(), "{:?}", created.errors);
        let endpoint = api(&writer.client, &object());
        endpoint
            .delete("base", &DeleteParams::default())
            .await
            .expect("it waits for its finalizer");
        let stored = endpoint.get("base").await.expect("it is held").object();
        let text = |pointer: &str| stored.pointer(pointer).and_then(Value::as_str).map(Name::from);
        let uid = text("/metadata/uid").expect("a uid");
        let release = Action::Replace {
            object: object(),
            before: Revision {
                uid: uid.clone(),
                version: text("/metadata/resourceVersion").expect("a version"),
            },
            patch: json!({"metadata": {"finalizers": null}}).into(),
            why: "a test",
        };
        let applied = apply(
            writer.clone(),
            Plan {
                actions: vec![release],
                ..Plan::default()
            },
        )
        .await;
        assert!(applied.errors.is_empty(), "{:?}", applied.errors);
        // The watch has shown before that it is being deleted: only its end shows that the write has arrived.
        assert_eq!(applied.expected, [(object(), Expected::Removed(uid))]);
        assert!(
            applied.removed.is_empty(),
            "it was not this write that took it away"
        );
        let counted = writer.metrics.text();
        let written = "tidegate_writes_total{resource=\"addondeploymentconfigs\",outcome=\"done\"} 2";
        assert!(
            counted.contains(written) && !counted.contains("Failed"),
            "{counted}"
        );
        assert!(endpoint.get_opt("base").await.expect("an answer").is_none());
        hub.shutdown().await;
    }

    #[tokio::test]
    async fn nothing_is_written_after_the_end_was_asked_for() {
        let hub = hub().await;
        let writer = writer(hub.client());
        writer.stop.cancel();
        let applied = apply(writer.clone(), create()).await;
        assert!(applied.expected.is_empty() && applied.errors.is_empty());
        assert!(
            api(&writer.client, &object())
                .get_opt("base")
                .await
                .expect("an answer")
                .is_none()
        );
        hub.shutdown().await;
    }

    #[test]
    fn only_what_the_hub_will_refuse_again_is_a_trouble() {
        let write = |code: u16| ApplyError::Write {
            verb: "create",
            object: object(),
            source: Box::new(kube::Error::Api(Box::new(Status {
                code,
                ..Status::failure("no", "Reason")
            }))),
        };
        let rows = [
            (403, Some("no"), true),
            (422, Some("no"), true),
            (404, Some("no"), false),
            (500, None, false),
        ];
        for (code, refusal, is_final) in rows {
            let error = write(code);
            assert_eq!(error.refusal().as_deref(), refusal, "{code}");
            assert_eq!(error.is_final(), is_final, "{code}");
        }
        let conflict = ApplyError::Conflict { object: object() };
        assert_eq!((conflict.refusal(), conflict.is_final()), (None, false));
        let hidden = ApplyError::Hidden { object: object() };
        assert!(hidden.refusal().is_some() && !hidden.is_final());
    }

    #[test]
    fn every_patch_carries_the_revision_it_was_planned_from() {
        let before = Revision {
            uid: "u".into(),
            version: "7".into(),
        };
        let patch = guarded(
            json!({"metadata": {"annotations": {"a": null}}, "spec": {}}),
            &before,
        );
        assert_eq!(
            patch,
            json!({"metadata": {"annotations": {"a": null}, "uid": "u", "resourceVersion": "7"}, "spec": {}})
        );
    }
}
