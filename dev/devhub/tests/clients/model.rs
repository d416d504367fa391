//! A list and the watch that goes on from it make the newest state, wherever one starts and whatever is selected.
//!
//! Random writes; at random moments followers list (whole, in pages, at an older version) and watch from there. At the end each
//! follower's copy must be what a list shows. Every failure prints the seed.

use std::collections::BTreeMap;

use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::raw::{Lines, WIDGETS, ask, version};
use crate::{Scene, widget};

const COLORS: [&str; 3] = ["red", "green", "blue"];
/// What followers select. All of them select a red widget with a red label, such as the one that tells the end.
const SELECTORS: [&str; 4] = [
    "",
    "&labelSelector=color=red",
    "&labelSelector=color%20in%20(red,blue)",
    "&fieldSelector=spec.color!=green",
];

/// A client that has listed and now watches.
struct Follower {
    how: String,
    copy: BTreeMap<String, Value>,
    lines: Lines,
    /// The version that a bookmark told.
    heard: u64,
}

/// The widget that tells the end.
const END: &str = "the-end";

/// A hub that tells quiet watchers all the time how far it has come, if it can be told to.
async fn scene() -> Scene {
    let scene = Scene::start().await;
    if scene.hub.is_real() {
        return scene;
    }
    let builder = devhub::DevHub::builder().bookmark_every(std::time::Duration::from_millis(20));
    Scene::of_the_dev_hub(builder).await
}

fn keep(copy: &mut BTreeMap<String, Value>, object: &Value) {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    copy.insert(name.to_owned(), object.clone());
}

async fn listed(scene: &Scene, query: &str) -> (BTreeMap<String, Value>, u64) {
    let (mut copy, mut token) = (BTreeMap::new(), String::new());
    loop {
        let path = if token.is_empty() {
            format!("{WIDGETS}?{query}")
        } else {
            let limit = query
                .split('&')
                .filter(|part| !part.starts_with("resourceVersion"));
            format!(
                "{WIDGETS}?{}&continue={token}",
                limit.collect::<Vec<_>>().join("&")
            )
        };
        let (code, answer) = ask(&scene.client, "GET", &path).await;
        assert_eq!(code, 200, "{path}: {answer}");
        for item in answer["items"].as_array().into_iter().flatten() {
            keep(&mut copy, item);
        }
        answer["metadata"]["continue"]
            .as_str()
            .unwrap_or_default()
            .clone_into(&mut token);
        if token.is_empty() {
            return (copy, version(&answer));
        }
    }
}

async fn follow(scene: &Scene, dice: &mut StdRng, past: &[u64]) -> Follower {
    let known = if scene.lacks_fields() { 3 } else { 4 };
    let selector = SELECTORS[dice.random_range(0..known)];
    let start = match dice.random_range(0..4) {
        0 => String::new(),
        1 => "limit=2".to_owned(),
        2 => format!(
            "resourceVersion={}&resourceVersionMatch=Exact",
            past[dice.random_range(0..past.len())]
        ),
        _ => format!(
            "limit=1&resourceVersion={}&resourceVersionMatch=Exact",
            past[dice.random_range(0..past.len())]
        ),
    };
    let (copy, from) = listed(scene, &format!("{start}{selector}")).await;
    let path = format!("{WIDGETS}?watch=true&allowWatchBookmarks=true&resourceVersion={from}{selector}");
    Follower {
        how: format!("{start}{selector} from {from}"),
        copy,
        heard: from,
        lines: Lines::open(&scene.client, &path).await,
    }
}

impl Follower {
    /// Takes in everything up to the widget that was made at last.
    async fn catch_up(&mut self) {
        while !self.copy.contains_key(END) {
            let event = self.lines.next().await.expect("the watch goes on");
            let object = &event["object"];
            match event["type"].as_str().unwrap_or_default() {
                "ADDED" => {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default();
                    assert!(!self.copy.contains_key(name), "{}: {name} came twice", self.how);
                    keep(&mut self.copy, object);
                }
                "MODIFIED" => keep(&mut self.copy, object),
                "DELETED" => {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default();
                    assert!(
                        self.copy.remove(name).is_some(),
                        "{}: {name} went without having come",
                        self.how
                    );
                }
                "BOOKMARK" => {
                    let heard = version(object);
                    assert!(heard >= self.heard, "{}: back to {heard}", self.how);
                    self.heard = heard;
                }
                other => panic!("{}: {other}: {object}", self.how),
            }
        }
    }
}

async fn write(scene: &Scene, dice: &mut StdRng) {
    let name = format!("w{}", dice.random_range(0..6));
    let color = COLORS[dice.random_range(0..COLORS.len())];
    let label = COLORS[dice.random_range(0..COLORS.len())];
    match dice.random_range(0..5) {
        0 | 1 => drop(
            scene
                .widgets
                .create(&PostParams::default(), &widget(&name, color))
                .await,
        ),
        2 => drop(scene.widgets.delete(&name, &DeleteParams::default()).await),
        3 => {
            let patch = Patch::Merge(json!({"metadata": {"labels": {"color": label}}}));
            drop(scene.widgets.patch(&name, &PatchParams::default(), &patch).await);
        }
        _ => {
            let patch = Patch::Merge(json!({"spec": {"color": color}}));
            drop(scene.widgets.patch(&name, &PatchParams::default(), &patch).await);
        }
    }
}

#[tokio::test]
async fn a_list_and_its_watch_make_the_newest_state() {
    for seed in 0..6 {
        let mut dice = StdRng::seed_from_u64(seed);
        let scene = scene().await;
        let (mut followers, mut past) = (Vec::new(), Vec::new());
        for step in 0..120 {
            write(&scene, &mut dice).await;
            past.push(version(&ask(&scene.client, "GET", WIDGETS).await.1));
            if step % 6 == 0 {
                followers.push(follow(&scene, &mut dice, &past).await);
            }
        }
        scene.create(END, "red").await;
        for follower in &mut followers {
            follower.catch_up().await;
            let selector = SELECTORS.iter().rev().find(|it| follower.how.contains(**it));
            let (expected, _) = listed(&scene, selector.copied().unwrap_or_default()).await;
            assert_eq!(follower.copy, expected, "seed {seed}: {}", follower.how);
        }
    }
}
