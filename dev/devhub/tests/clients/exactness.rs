//! Lists and watches to the letter: which state, which page, which events, which end.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use devhub::DevHub;
use expect_test::expect_file;
use serde_json::json;

use crate::raw::{Lines, WIDGETS, ask, says, version};
use crate::{PATIENCE, Scene, within};

impl Scene {
    async fn paint(&self, name: &str, color: &str) -> u64 {
        let patch = json!({"metadata": {"labels": {"color": color}}, "spec": {"color": color}});
        let painted = self.merge(name, patch).await;
        version(&serde_json::to_value(painted).expect("an object"))
    }

    async fn watch(&self, query: &str) -> Lines {
        Lines::open(&self.client, &format!("{WIDGETS}?watch=true&{query}")).await
    }

    /// Returns the version of the newest list.
    async fn now(&self) -> u64 {
        version(&ask(&self.client, "GET", WIDGETS).await.1)
    }
}

/// Asks every query of a file of rows again, and compares with what stands there.
async fn check_rows(scene: &Scene, file: &str, ask_as: impl Fn(&str) -> String, mask: (&str, &str)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/clients/rows")
        .join(file);
    let rows = std::fs::read_to_string(&path).expect("rows");
    let mut told = String::new();
    for row in rows.lines() {
        let Some((query, _)) = row.split_once("=>") else {
            writeln!(told, "{row}").expect("a text grows");
            continue;
        };
        let answer = says(&scene.client, &ask_as(query.trim())).await;
        let answer = answer.replace(mask.0, mask.1);
        writeln!(told, "{query}=> {}", answer.trim_end()).expect("a text grows");
    }
    expect_file![path].assert_eq(&told);
}

#[tokio::test]
async fn what_a_list_shows_depends_on_version_match_and_limit() {
    let scene = Scene::start().await;
    if scene.lacks_streaming() {
        return;
    }
    for name in ["a", "b", "c"] {
        scene.create(name, "red").await;
    }
    let then = scene.now().await.to_string();
    scene.paint("a", "blue").await;
    scene.remove("b").await;
    scene.create("d", "red").await;
    let now = scene.now().await.to_string();
    let ask_as = |query: &str| {
        let query = query.replace("THEN", &then).replace("NOW", &now);
        format!("{WIDGETS}?{query}")
    };
    check_rows(&scene, "lists.txt", ask_as, (&then, "THEN")).await;
}

#[tokio::test]
async fn a_list_of_the_future_is_refused_after_some_patience_on_the_dev_hub() {
    let scene = Scene::of_the_dev_hub(DevHub::builder()).await;
    let begun = Instant::now();
    // A client over TLS repeats what failed so.
    let path = format!("{WIDGETS}?resourceVersion=1000000&resourceVersionMatch=NotOlderThan");
    let (code, answer) = ask(&scene.hub.client(), "GET", &path).await;
    assert_eq!(
        (code, &answer["details"]["causes"][0]["reason"]),
        (504, &json!("ResourceVersionTooLarge"))
    );
    assert_eq!(answer["details"]["retryAfterSeconds"], 1);
    assert!(
        begun.elapsed() >= Duration::from_secs(2),
        "a version that may still come is waited for"
    );
}

#[tokio::test]
async fn a_list_waits_for_a_version_that_is_about_to_come() {
    let scene = Scene::start().await;
    let next = scene.now().await + 1;
    let asked = tokio::spawn({
        let client = scene.client.clone();
        async move { says(&client, &format!("{WIDGETS}?resourceVersion={next}")).await }
    });
    tokio::task::yield_now().await;
    scene.create("a", "red").await;
    assert_eq!(within(asked).await.expect("an answer"), "200 a");
}

#[tokio::test]
async fn pages_go_on_in_their_state_and_an_expired_token_goes_on_without_one_on_the_dev_hub() {
    let scene = Scene::of_the_dev_hub(DevHub::builder().history(4)).await;
    for name in ["a", "b", "c", "d"] {
        scene.create(name, "red").await;
    }
    let page = async |token: &str| {
        let path = format!("{WIDGETS}?limit=2&continue={token}");
        let (code, answer) = ask(&scene.client, "GET", &path).await;
        let token = answer["metadata"]["continue"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        (code, answer, token)
    };
    let (_, first, token) = page("").await;
    scene.remove("c").await;
    scene.create("bb", "red").await;
    let (code, second, end) = page(&token).await;
    let names = |answer: &serde_json::Value| {
        answer["items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| item["metadata"]["name"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (code, names(&second), end.as_str()),
        (200, vec!["c".into(), "d".into()], "")
    );
    assert_eq!(version(&first), version(&second), "all pages are of one state");
    assert_eq!(first["metadata"]["remainingItemCount"], 2);
    for n in 0..5 {
        scene.create(&format!("x{n}"), "red").await;
    }
    let (code, expired, fresh) = page(&token).await;
    assert_eq!((code, &expired["reason"]), (410, &json!("Expired")));
    assert!(
        expired["message"].as_str().is_some_and(|text| text
            .starts_with("The provided continue parameter is too old to display a consistent list result.")),
        "{expired}"
    );
    let (code, third, _) = page(&fresh).await;
    assert_eq!(
        (code, names(&third)),
        (200, vec!["bb".into(), "d".into()]),
        "from the newest state"
    );
    assert!(version(&third) > version(&first));
    let gone = format!(
        "{WIDGETS}?resourceVersion={}&resourceVersionMatch=Exact",
        version(&first)
    );
    assert_eq!(
        says(&scene.client, &gone).await,
        "410 The resourceVersion for the provided list is too old."
    );
}

#[tokio::test]
async fn options_of_a_watch_that_contradict_are_refused() {
    let scene = Scene::start().await;
    if scene.lacks_streaming() {
        return;
    }
    let ask_as = |query: &str| format!("{WIDGETS}?watch=true&{query}");
    check_rows(&scene, "watches.txt", ask_as, ("", "")).await;
}

#[tokio::test]
async fn the_initial_state_ends_with_a_bookmark_for_those_who_allow_it() {
    let scene = Scene::start().await;
    if scene.lacks_streaming() {
        return;
    }
    scene.create("a", "red").await;
    let all = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let rows = [
        (
            format!("{all}&allowWatchBookmarks=true"),
            vec!["ADDED a", "BOOKMARK initial"],
        ),
        (
            format!("{all}&allowWatchBookmarks=true&resourceVersion=0"),
            vec!["ADDED a", "BOOKMARK initial"],
        ),
        (
            format!("{all}&allowWatchBookmarks=true&resourceVersion=1"),
            vec!["ADDED a", "BOOKMARK initial"],
        ),
        (
            format!("{all}&allowWatchBookmarks=true&labelSelector=color=blue"),
            vec!["BOOKMARK initial"],
        ),
        (
            "allowWatchBookmarks=true&resourceVersion=0".to_owned(),
            vec!["ADDED a", "BOOKMARK initial"],
        ),
        ("allowWatchBookmarks=true".to_owned(), vec!["ADDED a"]),
        // Who does not allow bookmarks gets none, not even this one.
        (all.to_owned(), vec!["ADDED a"]),
        (String::new(), vec!["ADDED a"]),
        ("resourceVersion=0".to_owned(), vec!["ADDED a"]),
        // No initial state is wanted.
        (
            "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true".to_owned(),
            vec![],
        ),
    ];
    for (at, (query, expected)) in rows.iter().enumerate() {
        let mut lines = scene.watch(query).await;
        let told = lines.take(expected.len()).await;
        assert_eq!(told, *expected, "{query}");
        // What comes next is the next change, so there was nothing in between.
        let name = format!("b{at}");
        let color = if query.contains("blue") { "blue" } else { "red" };
        scene.create(&name, color).await;
        assert_eq!(lines.told().await, format!("ADDED {name}"), "{query}");
        scene.remove(&name).await;
    }
    let mut lines = scene.watch(&format!("{all}&allowWatchBookmarks=true")).await;
    lines.told().await;
    let mark = lines.next().await.expect("a bookmark");
    let expected = json!({
        "type": "BOOKMARK",
        "object": {"apiVersion": "probe.example.io/v1", "kind": "Widget", "metadata": {
            "resourceVersion": scene.now().await.to_string(), "annotations": {"k8s.io/initial-events-end": "true"},
        }},
    });
    assert_eq!(mark, expected);
}

#[tokio::test]
async fn the_initial_state_is_not_complete_before_the_version_that_was_asked_for() {
    let scene = Scene::start().await;
    if scene.lacks_streaming() {
        return;
    }
    scene.create("a", "red").await;
    let due = scene.now().await + 2;
    let all = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut lines = scene.watch(&format!("{all}&resourceVersion={due}")).await;
    assert_eq!(lines.told().await, "ADDED a");
    scene.create("b", "red").await;
    assert_eq!(lines.told().await, "ADDED b");
    scene.create("c", "red").await;
    let mut told = lines.take(2).await;
    told.sort();
    assert_eq!(told, ["ADDED c", "BOOKMARK initial"]);
}

#[tokio::test]
async fn a_forgotten_version_ends_a_watch_with_an_error_event_on_the_dev_hub() {
    let scene = Scene::of_the_dev_hub(DevHub::builder().history(2)).await;
    let old = scene.now().await;
    for name in ["a", "b", "c"] {
        scene.create(name, "red").await;
    }
    let mut lines = scene.watch(&format!("resourceVersion={old}")).await;
    let error = lines.next().await.expect("an event");
    let (kind, status) = (&error["type"], &error["object"]);
    assert_eq!(
        (kind, &status["code"], &status["reason"]),
        (&json!("ERROR"), &json!(410), &json!("Expired"))
    );
    assert!(
        status["message"]
            .as_str()
            .is_some_and(|text| text.starts_with(&format!("too old resource version: {old} ("))),
        "{status}"
    );
    assert_eq!(lines.told().await, "end");
    // A list of everything never forgets.
    let all = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut lines = scene.watch(&format!("{all}&resourceVersion={old}")).await;
    let told = lines.take(4).await;
    assert_eq!(told, ["ADDED a", "ADDED b", "ADDED c", "BOOKMARK initial"]);
}

#[tokio::test]
async fn an_object_that_leaves_a_selection_goes_as_it_was_with_the_new_version() {
    for query in ["labelSelector=color=red", "fieldSelector=spec.color=red"] {
        let scene = Scene::start().await;
        if query.starts_with("field") && scene.lacks_fields() {
            continue;
        }
        let mut lines = scene
            .watch(&format!("resourceVersion={}&{query}", scene.now().await))
            .await;
        scene.create("a", "blue").await;
        let came = scene.paint("a", "red").await;
        let event = lines.next().await.expect("an event");
        assert_eq!(
            (&event["type"], version(&event["object"])),
            (&json!("ADDED"), came),
            "{query}"
        );
        let left = scene.paint("a", "green").await;
        let event = lines.next().await.expect("an event");
        assert_eq!(
            (
                &event["type"],
                version(&event["object"]),
                &event["object"]["spec"]["color"]
            ),
            (&json!("DELETED"), left, &json!("red")),
            "{query}"
        );
        scene.remove("a").await;
        scene.create("b", "red").await;
        scene.remove("b").await;
        assert_eq!(lines.take(2).await, ["ADDED b", "DELETED b"], "{query}");
    }
}

#[tokio::test]
async fn a_quiet_watch_hears_how_far_the_hub_has_come_on_the_dev_hub() {
    let scene = Scene::of_the_dev_hub(DevHub::builder().bookmark_every(Duration::from_millis(30))).await;
    let start = scene.now().await;
    let mut quiet = scene
        .watch(&format!("resourceVersion={start}&allowWatchBookmarks=true"))
        .await;
    let mut deaf = scene.watch(&format!("resourceVersion={start}")).await;
    // Another kind moves the hub on.
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    let map = serde_json::from_value(map).expect("a map");
    scene
        .maps
        .create(&kube::api::PostParams::default(), &map)
        .await
        .expect("created");
    let now = scene.now().await;
    let mut heard = start;
    while heard < now {
        let event = quiet.next().await.expect("a bookmark");
        assert_eq!(event["type"], "BOOKMARK");
        assert!(event["object"]["metadata"].get("annotations").is_none());
        heard = version(&event["object"]);
    }
    // From there the watch goes on without a gap.
    let mut resumed = scene
        .watch(&format!("resourceVersion={heard}&allowWatchBookmarks=false"))
        .await;
    scene.create("a", "red").await;
    assert_eq!(resumed.told().await, "ADDED a");
    assert_eq!(
        deaf.told().await,
        "ADDED a",
        "who does not allow bookmarks gets none"
    );
}

#[tokio::test]
async fn a_watch_ends_in_time_with_a_bookmark_and_can_be_resumed_there_on_the_dev_hub() {
    let scene = Scene::of_the_dev_hub(DevHub::builder().history(2)).await;
    let start = scene.now().await;
    let query =
        format!("resourceVersion={start}&timeoutSeconds=1&allowWatchBookmarks=true&labelSelector=color=blue");
    let mut lines = scene.watch(&query).await;
    // The bookmark can only be newer than these if the watch has looked at them.
    for n in 0..5 {
        scene.create(&format!("x{n}"), "red").await;
        scene.remove(&format!("x{n}")).await;
    }
    let mark = lines.next().await.expect("a bookmark");
    assert_eq!(mark["type"], "BOOKMARK", "{mark}");
    assert_eq!(lines.told().await, "end");
    let heard = version(&mark["object"]);
    assert_eq!(heard, scene.now().await);
    let mut resumed = scene
        .watch(&format!("resourceVersion={heard}&labelSelector=color=blue"))
        .await;
    scene.create("a", "blue").await;
    assert_eq!(resumed.told().await, "ADDED a");
}

#[tokio::test]
async fn a_busy_watch_ends_in_time_as_well() {
    let scene = Scene::start().await;
    scene.create("a", "red").await;
    let mut lines = scene.watch("timeoutSeconds=1").await;
    let started = Instant::now();
    let mut events = 0_u32;
    loop {
        let color = if events.is_multiple_of(2) { "blue" } else { "red" };
        scene.paint("a", color).await;
        if lines.told().await == "end" {
            break;
        }
        events += 1;
        assert!(started.elapsed() < PATIENCE, "{events} events and no end");
    }
    assert!(started.elapsed() >= Duration::from_millis(900), "too early");
}
