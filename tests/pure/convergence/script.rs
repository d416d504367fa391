//! A scenario in the language of the plan scripts; steps without a command become comments.

use serde_json::{Value, json};

use super::agents::Mood;
use super::spec::LABEL;
use super::user::{
    ADDON, CLUSTERS, Groups, Step, chosen, cluster, config, newer, placement, taken_over, template,
};

/// Prints a step in the language of the plan scripts; a step without a command becomes a comment.
pub(crate) fn lines(step: &Step) -> Vec<String> {
    match step {
        Step::Join(n) => vec![format!("cluster add {}", cluster(*n))],
        Step::Leave(n) => vec![format!("cluster leave {}", cluster(*n))],
        Step::Decide(which, mask, groups) => decided(*which, *mask, *groups),
        Step::Undecide(which) => vec![format!("placement {} undecided", placement(*which))],
        Step::ForgetPlacement(which) => vec![format!("placement {} deleted", placement(*which))],
        Step::Config(which, edition) => vec![format!(
            "config set config{which} MESSAGE=config{which}-{edition}"
        )],
        Step::DropConfig(which) => vec![format!("delete AddOnDeploymentConfig default/config{which}")],
        Step::Template(variant, edition) => given("AddOnTemplate", template(*variant, *edition)),
        Step::Newer(edition) => given("AddOnTemplate", newer(*edition)),
        Step::Choose(n, version) => instance(*n, &json!({"desiredVersion": chosen(*version)})),
        Step::TakeOver(n) => {
            let mut object = taken_over();
            object["metadata"]["name"] = json!(ADDON);
            object["metadata"]["namespace"] = json!(cluster(*n));
            given("ManagedClusterAddOn", object)
        }
        Step::Label(n, on) => vec![format!("# label {LABEL}=prod of {}: {on}", cluster(*n))],
        Step::Addon(spec) => given("ClusterManagementAddOn", spec.object()),
        Step::DropAddon => vec![format!("delete ClusterManagementAddOn {ADDON}")],
        Step::Own(n, own) => {
            let configs = if *own { json!([config(1)]) } else { json!([]) };
            instance(*n, &json!({"configs": configs}))
        }
        Step::Make(n) => instance(*n, &json!({})),
        Step::DropInstance(n) => vec![format!("delete ManagedClusterAddOn {}/{ADDON}", cluster(*n))],
        Step::OptOut(n, out) => vec![format!(
            "# annotation tidegate.io/opt-out of {}: {out}",
            cluster(*n)
        )],
        Step::Ask(asked) => vec![format!("# spec.approvalBefore of the AddOnRollout: {asked}")],
        Step::Approve => vec!["# a decision in the RolloutApprovals: whatever waits is approved".to_owned()],
        Step::Pause(paused) => vec![format!("# spec.pause of the AddOnRollout: {paused}")],
        Step::Retry => vec!["# spec.retriedAt of the AddOnRollout: all, now".to_owned()],
        Step::NeverUndo => {
            vec!["# no spec.onFailure of the AddOnRollout, and what was undone is tried again".to_owned()]
        }
        Step::EditWork(n) => vec![format!("work edited {}", cluster(*n))],
        Step::DropWork(n) => vec![format!("work deleting {}", cluster(*n))],
        Step::Feel(n, mood) => vec![match mood {
            Mood::Well => format!("work applied {}", cluster(*n)),
            Mood::Failing => format!("work failed {} \"quota exceeded\"", cluster(*n)),
            Mood::Unavailable => format!("work unavailable {}", cluster(*n)),
            Mood::Offline => format!("# the agent of {} goes offline", cluster(*n)),
        }],
    }
}

fn given(kind: &str, mut object: Value) -> Vec<String> {
    object["kind"] = json!(kind);
    vec!["given".to_owned(), format!("  {object}")]
}

fn instance(n: usize, spec: &Value) -> Vec<String> {
    let metadata = json!({"name": ADDON, "namespace": cluster(n)});
    given("ManagedClusterAddOn", json!({"metadata": metadata, "spec": spec}))
}

fn decided(which: usize, mask: u8, groups: Groups) -> Vec<String> {
    let clusters = (0..CLUSTERS).filter(|n| mask & (1 << n) != 0).map(cluster);
    let names: Vec<String> = clusters.collect();
    let names = if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(" ")
    };
    let how = match groups {
        Groups::One => None,
        Groups::Canary => Some("# the first of them is the decision group \"canary\""),
        Groups::Each => Some("# each of them is a decision group, the first is \"canary\""),
    };
    let first = format!("placement {} {names}", placement(which));
    std::iter::once(first).chain(how.map(ToOwned::to_owned)).collect()
}
