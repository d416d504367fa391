//! `tidegate rollout freeze` and `unfreeze`: a RolloutFreeze from the command line.
//!
//! Decides only how flags become its fields. What a freeze stops is decided by the planners, and the webhook judges it like any other.

use std::process::ExitCode;

use jiff::{SignedDuration, Timestamp};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::args::{FreezeArgs, UnfreezeArgs};
use super::write::refused;
use crate::cli::print::print;
use crate::cli::{CliError, connect};
use crate::controllers::resource;
use kubernetes::field::{Path, Shown, nearest, quoted};
use model::Freeze;
use store::Kind;

/// Owns what `freeze` writes.
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
    let until = match args.length {
        Some(length) => {
            let length = SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX);
            let end = Timestamp::now().saturating_add(length);
            end.ok().map(|end| end.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        }
        None => args.until.clone(),
    };
    let labels: serde_json::Map<String, Value> = args
        .cluster_label
        .iter()
        .map(|(key, value)| (key.clone(), json!(value)))
        .collect();
    let mut spec = json!({"reason": args.reason, "from": args.from, "until": until});
    if !labels.is_empty() {
        spec["clusterSelector"] = json!({"matchLabels": labels});
    }
    if !args.addon.is_empty() {
        spec["addOns"] = json!(args.addon);
    }
    if args.without_upgrades {
        spec["upgrades"] = json!(false);
    }
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    let raw = serde_json::from_value(spec.clone()).map_err(CliError::acting("read the flags"))?;
    let read = Freeze::parse(&raw, &Path::root().key("spec"));
    let read = read.map_err(|wrong| {
        let wrong = wrong.iter().map(ToString::to_string).collect();
        CliError::Refused(Box::new(Invalid(wrong)))
    })?;
    if read.has_ended(Timestamp::now()) {
        let end = until.unwrap_or_default();
        let wrong = format!(
            "spec.until: {} is in the past, so nothing would be frozen",
            quoted(&end)
        );
        return Err(CliError::Refused(Box::new(Invalid(vec![wrong]))));
    }
    let object = json!({"apiVersion": Kind::Freeze.api_version(), "kind": "RolloutFreeze",
        "metadata": {"name": args.name}, "spec": spec});
    connect::serving_runtime()?.block_on(async {
        let api = freezes(connect::client(connect::config_of(&args.hub).await?)?);
        let params = PatchParams {
            dry_run: args.dry_run,
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let stored = api.patch(&args.name, &params, &Patch::Apply(&object)).await;
        stored.map_err(refused(Kind::Freeze))
    })?;
    let begin = if read.is_in_force(Timestamp::now()) {
        "now"
    } else {
        args.from.as_deref().unwrap_or("now")
    };
    let end = until.unwrap_or_else(|| format!("tidegate rollout unfreeze {}", args.name));
    let tried = if args.dry_run {
        " (dry run, nothing is stored)"
    } else {
        ""
    };
    print(&Shown::line(&format!(
        "RolloutFreeze {}: no change starts, from {begin} until {end}; changes in progress finish{tried}",
        args.name
    )))?;
    print(&Shown::line(&scope(args)))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns what a freeze applies to, and how to limit one that applies to everything.
fn scope(args: &FreezeArgs) -> String {
    let labels: Vec<String> = args
        .cluster_label
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let clusters = match labels.as_slice() {
        [] => "on all clusters".to_owned(),
        labels => format!("on clusters with {}", labels.join(", ")),
    };
    let addons = match args.addon.as_slice() {
        [] => "all add-ons".to_owned(),
        [one] => format!("add-on {one}"),
        more => format!("add-ons {}", more.join(", ")),
    };
    let upgrades = if args.without_upgrades {
        ""
    } else {
        " and all upgrades of clusters"
    };
    let is_whole = labels.is_empty() && args.addon.is_empty();
    let hint = if is_whole {
        "; to limit it, use --addon or --cluster-label"
    } else {
        ""
    };
    format!("  applies to {addons}{upgrades} {clusters}{hint}")
}

pub(super) fn unfreeze(args: &UnfreezeArgs) -> Result<ExitCode, CliError> {
    connect::serving_runtime()?.block_on(async {
        let api = freezes(connect::client(connect::config_of(&args.hub).await?)?);
        let params = DeleteParams {
            dry_run: args.dry_run,
            ..DeleteParams::default()
        };
        match api.delete(&args.name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Err(unknown(&api, &args.name).await),
            Err(error) => Err(refused(Kind::Freeze)(error)),
        }
    })?;
    let tried = if args.dry_run {
        " (dry run, nothing is deleted)"
    } else {
        ""
    };
    print(&Shown::line(&format!(
        "RolloutFreeze {}: deleted{tried}",
        args.name
    )))?;
    Ok(ExitCode::SUCCESS)
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
