//! Watchers, reflectors and what they do when their place is forgotten.

use futures::{Stream, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::watcher::{self, watch_object, watcher};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::{PATIENCE, Scene, Widget, within};

/// Every way in which a watcher can learn the state.
fn strategies() -> [(&'static str, watcher::Config); 4] {
    [
        ("list", watcher::Config::default()),
        ("pages of two", watcher::Config::default().page_size(2)),
        ("any version", watcher::Config::default().any_semantic()),
        ("stream", watcher::Config::default().streaming_lists()),
    ]
}

/// Tells an event in a word or two.
fn told<K: ResourceExt>(event: watcher::Result<watcher::Event<K>>) -> String {
    match event {
        Ok(event) => event.to_string(),
        Err(watcher::Error::WatchError(status)) => format!("ERROR {}", status.code),
        Err(error) => format!("{error:?}"),
    }
}

async fn take<K: ResourceExt>(
    stream: &mut (impl Stream<Item = watcher::Result<watcher::Event<K>>> + Unpin),
    count: usize,
) -> Vec<String> {
    within(stream.by_ref().take(count).map(told).collect()).await
}

#[tokio::test]
async fn a_watcher_receives_the_state_once_and_then_every_change() {
    for (name, config) in strategies() {
        let scene = Scene::start().await;
        if name == "stream" && scene.lacks_streaming() {
            continue;
        }
        for name in ["a", "b", "c"] {
            scene.create(name, "red").await;
        }
        let mut events = watcher(scene.widgets.clone(), config).boxed();
        let mut state = take(&mut events, 5).await;
        state.sort();
        assert_eq!(
            state,
            ["Init", "InitApply(a)", "InitApply(b)", "InitApply(c)", "InitDone"],
            "{name}"
        );
        scene.create("d", "red").await;
        let patch = json!({"spec": {"color": "blue"}});
        scene.merge("a", patch.clone()).await;
        scene.merge("a", patch).await;
        scene.remove("b").await;
        assert_eq!(
            take(&mut events, 3).await,
            ["Apply(d)", "Apply(a)", "Delete(b)"],
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_watcher_that_selects_sees_objects_come_and_go_with_their_labels() {
    for (name, config) in strategies() {
        for config in [
            config.clone().labels("color=red"),
            config.clone().fields("spec.color=red"),
        ] {
            let scene = Scene::start().await;
            if (name == "stream" && scene.lacks_streaming())
                || (config.field_selector.is_some() && scene.lacks_fields())
            {
                continue;
            }
            scene.create("a", "red").await;
            scene.create("b", "blue").await;
            let mut events = watcher(scene.widgets.clone(), config).boxed();
            assert_eq!(
                take(&mut events, 3).await,
                ["Init", "InitApply(a)", "InitDone"],
                "{name}"
            );
            for (which, color) in [("b", "red"), ("b", "green"), ("b", "blue"), ("a", "blue")] {
                let patch = json!({"metadata": {"labels": {"color": color}}, "spec": {"color": color}});
                scene.merge(which, patch).await;
            }
            assert_eq!(
                take(&mut events, 3).await,
                ["Apply(b)", "Delete(b)", "Delete(a)"],
                "{name}"
            );
        }
    }
}

#[tokio::test]
async fn a_watcher_whose_place_is_forgotten_starts_over_and_misses_nothing_on_the_dev_hub() {
    for (name, config) in strategies() {
        let scene = Scene::of_the_dev_hub(devhub::DevHub::builder().history(3)).await;
        // Without sockets there are no buffers: the stream is exactly as far as its reader.
        let widgets: Api<Widget> = Api::default_namespaced(scene.hub.client());
        scene.create("a", "red").await;
        let mut events = watcher(widgets, config).boxed();
        assert_eq!(
            take(&mut events, 3).await,
            ["Init", "InitApply(a)", "InitDone"],
            "{name}"
        );
        for n in 0..6 {
            scene.create(&format!("b{n}"), "red").await;
        }
        scene.remove("a").await;
        let mut heard = take(&mut events, 9).await;
        assert_eq!(heard.remove(0), "ERROR 410", "{name}");
        heard.sort();
        let all = [
            "Init",
            "InitApply(b0)",
            "InitApply(b1)",
            "InitApply(b2)",
            "InitApply(b3)",
            "InitApply(b4)",
            "InitApply(b5)",
            "InitDone",
        ];
        assert_eq!(heard, all, "{name}");
    }
}

#[tokio::test]
async fn a_reflector_holds_what_a_list_shows() {
    for (name, config) in strategies() {
        let scene = Scene::start().await;
        if name == "stream" && scene.lacks_streaming() {
            continue;
        }
        scene.create("early", "red").await;
        let (store, writer) = reflector::store();
        let mut reflected = reflector::reflector(writer, watcher(scene.widgets.clone(), config)).boxed();
        while !matches!(
            within(reflected.try_next()).await.expect("an event"),
            Some(watcher::Event::InitDone)
        ) {}
        within(store.wait_until_ready()).await.expect("a filled store");
        for n in 0..20 {
            scene.create(&format!("w{n}"), "red").await;
            if n % 3 == 0 {
                scene.remove(&format!("w{n}")).await;
            }
        }
        scene.create("last", "red").await;
        while store.get(&ObjectRef::new("last").within("default")).is_none() {
            within(reflected.try_next()).await.expect("an event");
        }
        let mut held: Vec<Widget> = store.state().iter().map(|held| (**held).clone()).collect();
        held.sort_by_key(ResourceExt::name_any);
        let mut listed = scene
            .widgets
            .list(&ListParams::default())
            .await
            .expect("a list")
            .items;
        listed.sort_by_key(ResourceExt::name_any);
        assert_eq!(held, listed, "{name}");
        assert_eq!(held.len(), 15);
    }
}

#[tokio::test]
async fn watchers_of_metadata_get_nothing_else() {
    for (name, config) in strategies() {
        let scene = Scene::start().await;
        if name == "stream" && scene.lacks_streaming() {
            continue;
        }
        scene.create("a", "red").await;
        let bare: Api<PartialObjectMeta<Widget>> = Api::default_namespaced(scene.client.clone());
        let mut events = watcher(bare.clone(), config).boxed();
        let mut found = None;
        while found.is_none() {
            if let watcher::Event::InitApply(object) =
                within(events.try_next()).await.expect("an event").expect("more")
            {
                found = Some(object);
            }
        }
        let found = found.expect("an object");
        let types = found.types.clone().expect("a kind");
        assert_eq!(
            (types.api_version.as_str(), types.kind.as_str()),
            ("meta.k8s.io/v1", "PartialObjectMetadata")
        );
        assert_eq!(found.labels()["color"], "red", "{name}");
        assert_eq!(found.metadata.generation, Some(1));
    }
}

#[tokio::test]
async fn one_object_is_watched_from_absence_to_absence() {
    let scene = Scene::start().await;
    scene.create("other", "red").await;
    let mut seen = watch_object(scene.widgets.clone(), "one").boxed();
    let mut next = async || within(seen.try_next()).await.expect("an event").expect("more");
    assert_eq!(next().await, None);
    let one = scene.create("one", "red").await;
    assert_eq!(next().await, Some(one));
    scene.remove("one").await;
    assert_eq!(next().await, None);
}

#[tokio::test]
async fn fifty_watchers_hear_the_same_in_the_same_order() {
    let scene = Scene::start().await;
    let ways = if scene.lacks_streaming() { 3 } else { 4 };
    let mut listeners = Vec::new();
    let (ready, mut are_ready) = tokio::sync::mpsc::channel(50);
    for n in 0..50_usize {
        let config = strategies()[n % ways].1.clone();
        let (maps, ready): (Api<ConfigMap>, _) = (scene.maps.clone(), ready.clone());
        listeners.push(tokio::spawn(async move {
            let mut events = watcher(maps, config).boxed();
            take(&mut events, 2).await;
            ready.send(()).await.expect("the receiver waits");
            let heard: Vec<String> = tokio::time::timeout(PATIENCE, events.take(40).map(told).collect())
                .await
                .expect("in time");
            heard
        }));
    }
    for _ in 0..50 {
        within(are_ready.recv()).await.expect("all are ready");
    }
    for n in 0..20 {
        let metadata = ObjectMeta {
            name: Some(format!("m{n}")),
            ..ObjectMeta::default()
        };
        let map = ConfigMap {
            metadata,
            ..ConfigMap::default()
        };
        scene
            .maps
            .create(&PostParams::default(), &map)
            .await
            .expect("created");
        scene
            .maps
            .delete(&format!("m{n}"), &DeleteParams::default())
            .await
            .expect("deleted");
    }
    let expected: Vec<String> = (0..20)
        .flat_map(|n| [format!("Apply(m{n})"), format!("Delete(m{n})")])
        .collect();
    for listener in listeners {
        assert_eq!(listener.await.expect("a listener ends"), expected);
    }
    // A widget, which is of another kind, can be made as well.
    scene.create("w", "red").await;
}
