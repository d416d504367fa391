//! `ControllerRevision` with content of an add-on: what clusters can go back to when the object itself was edited or deleted.
//!
//! Decides how it is read: its `data` as the object that it is a copy of. What cannot be read so stays known, with the reason.

use k8s_openapi::api::apps::v1::ControllerRevision;
use serde_json::{Value, json};

use super::configs::{DeploymentConfig, HubConfig, Template};
use super::stored::Plain;
use super::stored::Stored;
use crate::decode::read::{annotation, meta, owners, parse};
use crate::kind::{Kind, ObjectKey, Owner, Touched};
use crate::parts::kept::keeps;
use crate::parts::mentions::Mentioned;
use crate::record::{Config, ConfigRef, Edit, KeptContent as Record};
use crate::store::Store;
use crate::terms;
use model::Name;

/// The row of the kind.
pub(crate) struct KeptContent;

keeps!(KeptContent, Record);

impl Plain for KeptContent {
    const KIND: Kind = Kind::KeptContent;

    fn read(store: &mut Store, object: &Value) -> Result<Record, String> {
        let parsed: ControllerRevision = parse(object)?;
        let meta = meta(&parsed.metadata)?;
        let is_addon = |kind: &str| kind == Kind::AddOn.address().kind;
        let mut owners = owners(parsed.metadata.owner_references.as_ref(), &mut store.names).into_iter();
        let owner = owners.find(|owner| is_addon(&owner.kind));
        let data = parsed.data.map(|data| data.0).unwrap_or_default();
        let noted = |key: &str| annotation(&parsed.metadata, key);
        let edit = noted(terms::EDITED_BY).and_then(|manager| {
            let at = noted(terms::EDITED_AT)?.parse().ok()?;
            let manager = store.names.share(manager);
            Some(Edit { manager, at })
        });
        let cause = noted(terms::CHANGE_CAUSE).map(|cause| Name::from(cause.as_str()));
        let kept_at = parsed.metadata.creation_timestamp.as_ref().map(|at| at.0);
        let content = copied(store, data, &meta.uid, &meta.version);
        Ok(Record {
            kept_at,
            addon: owner.map_or_else(|| Name::from(""), |owner| owner.name),
            revision: parsed.revision,
            content: match content {
                Ok((config, content)) => Ok((
                    config,
                    Config {
                        edit,
                        cause,
                        ..content
                    },
                )),
                Err(why) => Err(Name::from(why)),
            },
            meta,
        })
    }

    fn changed(store: &mut Store, key: &ObjectKey, before: Option<&Record>, touched: &mut Touched) {
        let place = key.place();
        let after = store.kept.get::<Self>(&place);
        let kept = &mut store.indexes.kept;
        for (record, mentioned) in [(before, Mentioned::NoMore), (after, Mentioned::Now)] {
            let Some(record) = record else { continue };
            if let Ok((config, content)) = &record.content {
                mentioned.note(kept, &(config.clone(), content.hash.clone()), &place);
            }
            touched.insert(Owner::addon(&record.addon));
        }
    }
}

/// Reads a copy as the object itself is read.
fn copied(
    store: &mut Store,
    mut data: Value,
    uid: &str,
    version: &str,
) -> Result<(ConfigRef, Config), String> {
    if let Some(why) = data.get(terms::NOT_KEPT).and_then(Value::as_str) {
        return Err(why.to_owned());
    }
    let kind = Kind::of_object(&data).ok_or("its data is no configuration")?;
    if let Some(metadata) = data.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.extend([
            ("uid".to_owned(), json!(uid)),
            ("resourceVersion".to_owned(), json!(version)),
        ]);
    }
    let key = ObjectKey::of(kind, &data);
    let address = kind.address();
    let content = match Kind::of_config(address.group, address.resource) {
        Some(Kind::Template) => Template::decode(store, &key, &data),
        Some(Kind::HubConfig) => HubConfig::decode(store, &key, &data),
        Some(_) => DeploymentConfig::decode(store, &key, &data),
        None => Err("its data is no configuration".to_owned()),
    };
    Ok((ConfigRef::of(&key), content?))
}
