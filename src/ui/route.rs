//! What a path of the page asks for.
//!
//! Decides only how text becomes a question. Pure.

use insight::cockpit::Target;

/// The requested page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// A file of the page, by its name.
    Asset(&'static str),
    /// All rollouts.
    List,
    /// One rollout.
    Rollout(Target),
    /// What the hub remembers of one.
    History(Target),
    /// The changed fields of its configurations.
    Changes(Target),
    /// The settings that control it, and the decisions about it.
    Settings(Target),
    /// Why a cluster is where it is.
    Why(Target, String),
    /// All rollouts by all clusters.
    Fleet,
    /// One cluster with all its rollouts.
    Cluster(String),
    /// The hub and the user.
    About,
    /// What a user does: the word of the verb.
    Act(String, Target),
    /// The freezes of the hub.
    Freezes,
    /// A change of a freeze: whether it begins, and its name.
    Freeze(bool, String),
    /// What the audit has found.
    Findings,
    /// What changes, as it does: the list, and one rollout if it is named.
    Stream(Option<Target>),
}

/// The longest name of anything on a hub.
const LONGEST: usize = 253;

/// Returns what a path asks for, if it asks for anything that there is.
pub(super) fn route(path: &str) -> Option<Route> {
    match path {
        "/" => return Some(Route::Asset("index.html")),
        "/style.css" => return Some(Route::Asset("style.css")),
        "/app.js" => return Some(Route::Asset("app.js")),
        "/grid.js" => return Some(Route::Asset("grid.js")),
        "/live.js" => return Some(Route::Asset("live.js")),
        "/actions.js" => return Some(Route::Asset("actions.js")),
        "/freezes.js" => return Some(Route::Asset("freezes.js")),
        "/fleet.js" => return Some(Route::Asset("fleet.js")),
        "/report.js" => return Some(Route::Asset("report.js")),
        "/words.js" => return Some(Route::Asset("words.js")),
        "/icon.svg" => return Some(Route::Asset("icon.svg")),
        "/api/rollouts" => return Some(Route::List),
        "/api/fleet" => return Some(Route::Fleet),
        "/api/about" => return Some(Route::About),
        "/api/freezes" => return Some(Route::Freezes),
        "/api/findings" => return Some(Route::Findings),
        "/api/stream" => return Some(Route::Stream(None)),
        _ => {}
    }
    let (what, rest) = path.strip_prefix("/api/")?.split_once('/')?;
    match what {
        "rollouts" => target(rest).map(Route::Rollout),
        "history" => target(rest).map(Route::History),
        "changes" => target(rest).map(Route::Changes),
        "settings" => target(rest).map(Route::Settings),
        "clusters" => name(rest).map(|cluster| Route::Cluster(cluster.to_owned())),
        "freeze" | "unfreeze" => name(rest).map(|freeze| Route::Freeze(what == "freeze", freeze.to_owned())),
        "act" => {
            let (verb, rest) = rest.split_once('/')?;
            let verb = name(verb)?.to_owned();
            target(rest).map(|target| Route::Act(verb, target))
        }
        "stream" => target(rest).map(|target| Route::Stream(Some(target))),
        "why" => {
            let (cluster, rest) = rest.split_once('/')?;
            let cluster = name(cluster)?.to_owned();
            target(rest).map(|target| Route::Why(target, cluster))
        }
        _ => None,
    }
}

/// Reads `helloworld` or `mcu/NAMESPACE/NAME`, as a picture is called.
fn target(text: &str) -> Option<Target> {
    let parts: Vec<&str> = text.split('/').collect();
    match parts.as_slice() {
        [addon] => Some(Target::addon(name(addon)?)),
        ["mcu", namespace, upgrade] => Some(Target::upgrade(name(namespace)?, name(upgrade)?)),
        _ => None,
    }
}

/// Names on a hub need no escape in a path.
fn name(text: &str) -> Option<&str> {
    let is_plain = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-' || one == '.';
    let is_name = !text.is_empty() && text.len() <= LONGEST && text.chars().all(is_plain);
    is_name.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_asks_for_one_thing_or_for_nothing() {
        let upgrade = || Target::upgrade("default", "to-4-12");
        let rows = [
            ("/", Some(Route::Asset("index.html"))),
            ("/api/rollouts", Some(Route::List)),
            (
                "/api/rollouts/hello",
                Some(Route::Rollout(Target::addon("hello"))),
            ),
            (
                "/api/rollouts/mcu/default/to-4-12",
                Some(Route::Rollout(upgrade())),
            ),
            (
                "/api/why/cluster1/hello",
                Some(Route::Why(Target::addon("hello"), "cluster1".to_owned())),
            ),
            ("/api/stream", Some(Route::Stream(None))),
            (
                "/api/clusters/cluster1",
                Some(Route::Cluster("cluster1".to_owned())),
            ),
            (
                "/api/act/pause/mcu/default/to-4-12",
                Some(Route::Act("pause".to_owned(), upgrade())),
            ),
            ("/api/freezes", Some(Route::Freezes)),
            ("/api/freeze/xmas", Some(Route::Freeze(true, "xmas".to_owned()))),
            (
                "/api/unfreeze/xmas",
                Some(Route::Freeze(false, "xmas".to_owned())),
            ),
            ("/api/freeze/a/b", None),
            ("/api/act/pause", None),
            ("/api/clusters/a/b", None),
            (
                "/api/stream/mcu/default/to-4-12",
                Some(Route::Stream(Some(upgrade()))),
            ),
            ("/api/rollouts/", None),
            ("/api/rollouts/a/b", None),
            ("/api/rollouts/%2e%2e", None),
            ("/api/why/cluster1", None),
            ("/app.js/..", None),
            ("/api", None),
        ];
        for (path, expected) in rows {
            assert_eq!(route(path), expected, "{path}");
        }
    }
}
