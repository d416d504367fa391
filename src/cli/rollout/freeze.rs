//! `tidegate rollout freeze` and `unfreeze`: a RolloutFreeze from the command line or the web page.
//!
//! Decides only how flags become its fields. What a freeze stops is decided by the planners, and the webhook judges it like any other.

use std::process::ExitCode;

use jiff::{SignedDuration, Timestamp};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::args::{FreezeArgs, FreezeFields, UnfreezeArgs};
use super::write::refused;
use crate::cli::print::print;
use crate::cli::{CliError, connect};
use crate::controllers::resource;
use kubernetes::field::{Path, Shown, nearest, quoted};
use model::Freeze;
use store::Kind;

/// The field manager of every client: server-side apply then replaces all fields of a freeze, whichever client has set them.
const MANAGER: &str = "tidegate-rollout-freeze";

/// The flags make no freeze.
#[derive(Debug, thiserror::Error)]
#[error("the freeze would be invalid: {}", .0.join("; "))]
struct Invalid(Vec<String>);

/// There is no freeze with this name.
#[derive(Debug, thiserror::Error)]
#[error("no RolloutFreeze has the name {}{}", quoted(.0), .1)]
struct Unknown(String, String);

pub(super) fn freeze(args: &FreezeArgs) -> Result<ExitCode, CliError> {
    let lines = connect::serving_runtime()?.block_on(async {
        let client = connect::client(connect::config_of(&args.hub).await?)?;
        begin(client, &args.name, &args.fields, args.dry_run).await
    })?;
    print(&Shown::page(&format!("{}\n", lines.join("\n  "))))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn unfreeze(args: &UnfreezeArgs) -> Result<ExitCode, CliError> {
    let told = connect::serving_runtime()?.block_on(async {
        let client = connect::client(connect::config_of(&args.hub).await?)?;
        end(client, &args.name, args.dry_run).await
    })?;
    print(&Shown::line(&told))?;
    Ok(ExitCode::SUCCESS)
}

/// Creates or changes a freeze; returns when it applies, to what, what it replaces, and which of its add-ons do not exist.
pub(in crate::cli) async fn begin(
    client: Client,
    name: &str,
    fields: &FreezeFields,
    dry_run: bool,
) -> Result<Vec<String>, CliError> {
    let now = Timestamp::now();
    let (spec, read) = read(fields, now)?;
    let begin = if read.is_in_force(now) {
        "now".to_owned()
    } else {
        text(&spec, "from").unwrap_or("now").to_owned()
    };
    let end = text(&spec, "until").map_or_else(|| format!("tidegate rollout unfreeze {name}"), str::to_owned);
    let object = json!({"apiVersion": Kind::Freeze.api_version(), "kind": "RolloutFreeze",
        "metadata": {"name": name}, "spec": spec});
    let params = PatchParams {
        dry_run,
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let api = freezes(client.clone());
    let before = api.get_opt(name).await.map_err(refused(Kind::Freeze))?;
    let stored = api.patch(name, &params, &Patch::Apply(&object)).await;
    stored.map_err(refused(Kind::Freeze))?;
    let before = before.and_then(|before| before.data.get("spec").cloned());
    let is_changed = before.as_ref().is_some_and(|before| *before != spec);
    let tried = if dry_run {
        " (dry run, nothing is stored)"
    } else {
        ""
    };
    let changed = if is_changed { " changed" } else { "" };
    let told = format!(
        "RolloutFreeze {name}{changed}: no change starts, from {begin} until {end}; changes in progress finish{tried}"
    );
    let mut lines = vec![told, scope(fields)];
    lines.extend(
        before
            .filter(|_| is_changed)
            .map(|before| format!("replaces {before}")),
    );
    let addons: Api<DynamicObject> = Api::all_with(client, &resource(Kind::AddOn));
    for addon in &fields.addon {
        // The freeze is stored: a user who cannot read add-ons gets no note.
        if matches!(addons.get_opt(addon).await, Ok(None)) {
            lines.push(format!("note: the hub has no add-on {}", quoted(addon)));
        }
    }
    Ok(lines)
}

/// Deletes a freeze, and returns what was deleted.
pub(in crate::cli) async fn end(client: Client, name: &str, dry_run: bool) -> Result<String, CliError> {
    let api = freezes(client);
    let params = DeleteParams {
        dry_run,
        ..DeleteParams::default()
    };
    match api.delete(name, &params).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.is_not_found() => return Err(unknown(&api, name).await),
        Err(error) => return Err(refused(Kind::Freeze)(error)),
    }
    let tried = if dry_run {
        " (dry run, nothing is deleted)"
    } else {
        ""
    };
    Ok(format!("RolloutFreeze {name}: deleted{tried}"))
}

/// Returns the spec that flags make, and what it means.
fn read(fields: &FreezeFields, now: Timestamp) -> Result<(Value, Freeze), CliError> {
    let until = match fields.length {
        Some(length) => {
            let length = SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX);
            let end = now.saturating_add(length);
            end.ok().map(|end| end.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        }
        None => fields.until.clone(),
    };
    let labels: serde_json::Map<String, Value> = fields
        .cluster_label
        .iter()
        .map(|(key, value)| (key.clone(), json!(value)))
        .collect();
    let mut spec = json!({"reason": fields.reason, "from": fields.from, "until": until});
    if !labels.is_empty() {
        spec["clusterSelector"] = json!({"matchLabels": labels});
    }
    if !fields.addon.is_empty() {
        spec["addOns"] = json!(fields.addon);
    }
    if fields.without_upgrades {
        spec["upgrades"] = json!(false);
    }
    if let Some(spec) = spec.as_object_mut() {
        spec.retain(|_, value| !value.is_null());
    }
    let raw = serde_json::from_value(spec.clone()).map_err(CliError::acting("read the flags"))?;
    let read = Freeze::parse(&raw, &Path::root().key("spec"));
    let read = read.map_err(|wrong| {
        let wrong = wrong.iter().map(ToString::to_string).collect();
        CliError::Refused(Box::new(Invalid(wrong)))
    })?;
    if read.has_ended(now) {
        let end = until.unwrap_or_default();
        let wrong = format!(
            "spec.until: {} is in the past, so nothing would be frozen",
            quoted(&end)
        );
        return Err(CliError::Refused(Box::new(Invalid(vec![wrong]))));
    }
    Ok((spec, read))
}

/// Returns what a freeze applies to, and how to limit one that applies to everything.
fn scope(fields: &FreezeFields) -> String {
    let labels: Vec<String> = fields
        .cluster_label
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let clusters = match labels.as_slice() {
        [] => "on all clusters".to_owned(),
        labels => format!("on clusters with {}", labels.join(", ")),
    };
    let addons = match fields.addon.as_slice() {
        [] => "all add-ons".to_owned(),
        [one] => format!("add-on {one}"),
        more => format!("add-ons {}", more.join(", ")),
    };
    let upgrades = if fields.without_upgrades {
        ""
    } else {
        " and all upgrades of clusters"
    };
    let is_whole = labels.is_empty() && fields.addon.is_empty();
    let hint = if is_whole {
        "; to limit it, use --addon or --cluster-label"
    } else if !fields.addon.is_empty() && !fields.without_upgrades {
        "; to exclude upgrades, use --without-upgrades"
    } else {
        ""
    };
    format!("applies to {addons}{upgrades} {clusters}{hint}")
}

fn text<'a>(spec: &'a Value, key: &str) -> Option<&'a str> {
    spec.get(key).and_then(Value::as_str)
}

fn freezes(client: Client) -> Api<DynamicObject> {
    Api::all_with(client, &resource(Kind::Freeze))
}

async fn unknown(api: &Api<DynamicObject>, name: &str) -> CliError {
    let all = api.list(&ListParams::default()).await;
    let names: Vec<String> = all
        .into_iter()
        .flatten()
        .filter_map(|one| one.metadata.name)
        .collect();
    let hint = match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean {}?", quoted(near)),
        None if names.is_empty() => "; the hub has none".to_owned(),
        None => format!("; the hub has {}", names.join(", ")),
    };
    CliError::Refused(Box::new(Unknown(name.to_owned(), hint)))
}
