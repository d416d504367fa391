//! A controller as people write them: a finalizer, an owned object by server-side apply, a status, and something outside that is
//! to be cleaned up.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{self, finalizer};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher;
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::json;
use tokio::sync::oneshot;

use crate::{Scene, Widget, within};

const HOLD: &str = "probe.example.io/outside";

/// What the controller needs, and the things outside of the hub that it keeps.
struct Context {
    client: Client,
    outside: Mutex<BTreeSet<String>>,
}

impl Context {
    fn outside(&self) -> BTreeSet<String> {
        self.outside
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn change(&self, how: impl FnOnce(&mut BTreeSet<String>)) {
        how(&mut self.outside.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

async fn reconcile(
    widget: Arc<Widget>,
    context: Arc<Context>,
) -> Result<Action, finalizer::Error<kube::Error>> {
    let widgets: Api<Widget> = Api::default_namespaced(context.client.clone());
    finalizer(&widgets, HOLD, widget, async |event| match event {
        finalizer::Event::Apply(widget) => settle(&widget, &context).await,
        finalizer::Event::Cleanup(widget) => {
            context.change(|outside| outside.retain(|name| *name != widget.name_any()));
            Ok(Action::await_change())
        }
    })
    .await
}

async fn settle(widget: &Widget, context: &Context) -> kube::Result<Action> {
    context.change(|outside| outside.extend([widget.name_any()]));
    let maps: Api<ConfigMap> = Api::default_namespaced(context.client.clone());
    let wanted = ConfigMap {
        metadata: ObjectMeta {
            name: Some(widget.name_any()),
            owner_references: widget.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: widget
            .spec
            .color
            .clone()
            .map(|color| [("color".to_owned(), color)].into()),
        ..ConfigMap::default()
    };
    let params = PatchParams::apply("probe").force();
    maps.patch(&widget.name_any(), &params, &Patch::Apply(&wanted))
        .await?;
    let status = json!({
        "apiVersion": "probe.example.io/v1", "kind": "Widget",
        "status": {"observedGeneration": widget.metadata.generation},
    });
    let widgets: Api<Widget> = Api::default_namespaced(context.client.clone());
    widgets
        .patch_status(&widget.name_any(), &params, &Patch::Apply(&status))
        .await?;
    Ok(Action::await_change())
}

fn is_settled(widget: Option<&Widget>) -> bool {
    widget.is_some_and(|widget| {
        widget
            .status
            .as_ref()
            .and_then(|status| status.observed_generation)
            == widget.metadata.generation
    })
}

fn has_color(color: &str) -> impl Fn(Option<&ConfigMap>) -> bool + use<> {
    let expected = Some(color.to_owned());
    move |map: Option<&ConfigMap>| {
        map.and_then(|map| map.data.as_ref())
            .and_then(|data| data.get("color").cloned())
            == expected
    }
}

#[tokio::test]
async fn a_controller_settles_heals_and_cleans_up() {
    let listing = watcher::Config::default();
    for (streams, config) in [(false, listing.clone()), (true, listing.streaming_lists())] {
        let scene = Scene::start().await;
        if streams && scene.lacks_streaming() {
            continue;
        }
        let context = Arc::new(Context {
            client: scene.client.clone(),
            outside: Mutex::default(),
        });
        let (stop, stopped) = oneshot::channel::<()>();
        let running = Controller::new(scene.widgets.clone(), config.clone())
            .owns(scene.maps.clone(), config)
            .graceful_shutdown_on(async { drop(stopped.await) })
            .run(
                reconcile,
                |_, _, _| Action::requeue(std::time::Duration::from_millis(50)),
                Arc::clone(&context),
            )
            .collect::<Vec<_>>();
        let running = tokio::spawn(running);
        check_life_of_a_widget(&scene, &context).await;
        drop(stop);
        within(running).await.expect("the controller ends");
    }
}

async fn check_life_of_a_widget(scene: &Scene, context: &Context) {
    scene.create("w", "red").await;
    within(await_condition(scene.widgets.clone(), "w", is_settled))
        .await
        .expect("settled");
    assert_eq!(context.outside(), ["w".to_owned()].into());
    within(await_condition(scene.maps.clone(), "w", has_color("red")))
        .await
        .expect("a map");

    // The specification changes.
    scene.merge("w", json!({"spec": {"color": "blue"}})).await;
    within(await_condition(scene.maps.clone(), "w", has_color("blue")))
        .await
        .expect("followed");

    // Another client changes what is owned, then deletes it.
    let patch = Patch::Merge(json!({"data": {"color": "black"}}));
    let meddled = scene.maps.patch("w", &PatchParams::default(), &patch).await;
    let meddled = meddled.expect("patched");
    within(await_condition(scene.maps.clone(), "w", has_color("blue")))
        .await
        .expect("healed");
    scene
        .maps
        .delete("w", &DeleteParams::default())
        .await
        .expect("deleted");
    let again = within(await_condition(
        scene.maps.clone(),
        "w",
        |map: Option<&ConfigMap>| map.is_some_and(|map| map.uid() != meddled.uid()),
    ));
    again.await.expect("made again");

    // The widget goes: first what is outside, then the widget, then what it owns.
    let uid = scene
        .widgets
        .get("w")
        .await
        .expect("a widget")
        .uid()
        .unwrap_or_default();
    let marked = scene.widgets.delete("w", &DeleteParams::default()).await;
    let marked = marked.expect("marked").left().expect("it is held");
    assert_eq!(marked.finalizers(), [HOLD]);
    let gone = await_condition(scene.widgets.clone(), "w", conditions::is_deleted(&uid));
    within(gone).await.expect("gone");
    assert_eq!(context.outside(), BTreeSet::new());
    let collected = await_condition(scene.maps.clone(), "w", |map: Option<&ConfigMap>| map.is_none());
    within(collected).await.expect("collected");
}

#[tokio::test]
async fn two_finalizers_are_added_and_removed_without_losing_one() {
    let scene = Scene::start().await;
    scene.create("w", "red").await;
    let act = async |name: &'static str, fails: bool| {
        let object = Arc::new(scene.widgets.get("w").await?);
        finalizer(&scene.widgets, name, object, async |_| {
            if fails {
                Err(std::io::Error::other("not yet"))
            } else {
                Ok(Action::await_change())
            }
        })
        .await
        .map_err(|error| kube::Error::Service(error.into()))
    };
    act("probe.example.io/one", false).await.expect("added");
    act("probe.example.io/two", false).await.expect("added");
    // Of two writers that change the same version, the second gets a conflict.
    let stale = Arc::new(scene.widgets.get("w").await.expect("a widget"));
    act("probe.example.io/three", false).await.expect("added");
    let late = finalizer(&scene.widgets, "probe.example.io/four", stale, async |_| {
        Ok::<_, std::io::Error>(Action::await_change())
    });
    assert!(matches!(late.await, Err(finalizer::Error::AddFinalizer(_))));

    scene
        .widgets
        .delete("w", &DeleteParams::default())
        .await
        .expect("marked");
    assert!(
        act("probe.example.io/one", true).await.is_err(),
        "a failed clean-up holds the object"
    );
    let held = scene.widgets.get("w").await.expect("held");
    assert_eq!(
        held.finalizers(),
        [
            "probe.example.io/one",
            "probe.example.io/two",
            "probe.example.io/three"
        ]
    );
    for name in [
        "probe.example.io/two",
        "probe.example.io/one",
        "probe.example.io/three",
    ] {
        act(name, false).await.expect("removed");
    }
    assert_eq!(scene.widgets.get_opt("w").await.expect("an answer"), None);
}

#[tokio::test]
async fn what_an_owner_leaves_behind_stays_whatever_is_heard_of_first() {
    let scene = Scene::start().await;
    for n in 0..40 {
        let owner = scene.create(&format!("w{n}"), "red").await;
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(format!("m{n}")),
                owner_references: Some(vec![owner.owner_ref(&()).expect("an owner")]),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        scene
            .maps
            .create(&PostParams::default(), &map)
            .await
            .expect("created");
    }
    // The last one in the background: when its map has gone, everything before it has been seen.
    for n in 0..40 {
        let params = if n < 39 {
            DeleteParams::orphan()
        } else {
            DeleteParams::background()
        };
        scene
            .widgets
            .delete(&format!("w{n}"), &params)
            .await
            .expect("deleted");
    }
    for n in 0..40 {
        let name = format!("w{n}");
        let gone = await_condition(scene.widgets.clone(), &name, |widget: Option<&Widget>| {
            widget.is_none()
        });
        within(gone).await.expect("gone");
    }
    let collected = await_condition(scene.maps.clone(), "m39", |map: Option<&ConfigMap>| map.is_none());
    within(collected).await.expect("collected");
    let left = scene.maps.list(&ListParams::default()).await.expect("a list");
    assert_eq!(left.items.len(), 39);
    assert!(left.iter().all(|map| map.owner_references().is_empty()));
}
