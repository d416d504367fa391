//! Writes of kube's API types: every kind of patch, apply, subresources, preconditions, collections.

use expect_test::{Expect, expect};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{
    DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions, ValidationDirective,
};
use kube::core::PartialObjectMetaExt as _;
use serde_json::{Value, json};

use crate::{Scene, WidgetStatus, refusal, widget};

fn map(name: &str, data: &Value) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: serde_json::from_value(data.clone()).expect("data are texts"),
        ..ConfigMap::default()
    }
}

#[tokio::test]
async fn every_kind_of_patch_does_what_it_is_for() {
    let scene = Scene::start().await;
    let start = json!({"a": "1", "b": "2"});
    scene
        .maps
        .create(&PostParams::default(), &map("m", &start))
        .await
        .expect("created");
    let moved = json!([
        {"op": "test", "path": "/data/a", "value": "1"}, {"op": "move", "from": "/data/a", "path": "/data/c"},
    ]);
    let rows: [(Patch<Value>, Value); 4] = [
        (
            Patch::Merge(json!({"data": {"b": null, "d": "4"}})),
            json!({"a": "1", "d": "4"}),
        ),
        (
            Patch::Json(serde_json::from_value(moved).expect("a patch")),
            json!({"c": "1", "d": "4"}),
        ),
        (
            Patch::Strategic(json!({"data": {"$patch": "replace", "e": "5"}})),
            json!({"e": "5"}),
        ),
        (
            Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"f": "6"}})),
            json!({"e": "5", "f": "6"}),
        ),
    ];
    for (patch, expected) in rows {
        let params = match &patch {
            Patch::Apply(_) => PatchParams::apply("probe"),
            _ => PatchParams::default(),
        };
        let answered = scene.maps.patch("m", &params, &patch).await.expect("patched");
        assert_eq!(serde_json::to_value(&answered.data).expect("data"), expected);
        let read = scene.maps.get("m").await.expect("a map");
        assert_eq!(read, answered);
    }
}

/// Returns how a patch of the widget `w` is refused.
async fn refused(scene: &Scene, params: &PatchParams, patch: &Patch<Value>) -> String {
    let (code, text) = refusal(scene.widgets.patch("w", params, patch).await);
    format!("{code} {text}")
}

#[tokio::test]
async fn writes_that_must_not_happen_are_refused_in_the_words_of_kubernetes() {
    let scene = Scene::start().await;
    scene.create("w", "red").await;
    let patch = async |params: PatchParams, patch: Patch<Value>| refused(&scene, &params, &patch).await;
    let check = |found: String, expected: Expect| expected.assert_eq(&found);
    check(
        patch(PatchParams::default(), Patch::Strategic(json!({}))).await,
        expect![
            "415 the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
        ],
    );
    let color = json!({"apiVersion": "probe.example.io/v1", "kind": "Widget", "spec": {"color": "blue"}});
    check(
        patch(PatchParams::apply("probe"), Patch::Apply(color)).await,
        expect![[
            r#"409 Apply failed with 1 conflict: conflict with "unknown" using probe.example.io/v1: .spec.color"#
        ]],
    );
    check(
        patch(
            PatchParams::default(),
            Patch::Merge(json!({"metadata": {"resourceVersion": "1"}})),
        )
        .await,
        expect![[
            r#"409 Operation cannot be fulfilled on widgets.probe.example.io "w": the object has been modified; please apply your changes to the latest version and try again"#
        ]],
    );
    let taken = scene
        .widgets
        .create(&PostParams::default(), &widget("w", "red"))
        .await;
    check(
        format!("{:?}", refusal(taken)),
        expect![[r#"(409, "widgets.probe.example.io \"w\" already exists")"#]],
    );
}

#[tokio::test]
async fn what_a_schema_does_not_know_is_refused_with_its_place() {
    let scene = Scene::start().await;
    scene.create("w", "red").await;
    let patch = async |params: PatchParams, patch: Patch<Value>| refused(&scene, &params, &patch).await;
    let check = |found: String, expected: Expect| expected.assert_eq(&found);
    if scene.lacks("a strict check of fields", 25) {
        return;
    }
    check(
        patch(
            PatchParams::default(),
            Patch::Merge(json!({"spec": {"ports": [{"port": "http"}]}})),
        )
        .await,
        expect![[
            r#"422 Widget.probe.example.io "w" is invalid: spec.ports[0].port: Invalid value: "string": spec.ports[0].port in body must be of type integer: "string""#
        ]],
    );
    let strict = PatchParams {
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::default()
    };
    let unknown = patch(strict, Patch::Merge(json!({"spec": {"colour": "red"}}))).await;
    assert!(
        unknown.starts_with("422 ")
            && unknown.ends_with("strict decoding error: unknown field \"spec.colour\""),
        "{unknown}"
    );
}

#[tokio::test]
async fn writing_or_deleting_an_older_state_is_a_conflict() {
    let scene = Scene::start().await;
    let mut stale = scene.create("w", "red").await;
    scene.merge("w", json!({"spec": {"color": "blue"}})).await;
    stale.spec.color = Some("green".to_owned());
    let replaced = scene.widgets.replace("w", &PostParams::default(), &stale).await;
    assert_eq!(refusal(replaced).0, 409);
    for (uid, resource_version) in [
        (Some("another".to_owned()), None),
        (stale.uid(), stale.resource_version()),
    ] {
        let params = DeleteParams::default().preconditions(Preconditions {
            uid,
            resource_version,
        });
        assert_eq!(refusal(scene.widgets.delete("w", &params).await).0, 409);
    }
    assert_eq!(
        scene
            .widgets
            .get("w")
            .await
            .expect("still there")
            .spec
            .color
            .as_deref(),
        Some("blue")
    );
}

#[tokio::test]
async fn appliers_share_an_object_and_take_only_their_own_away() {
    let scene = Scene::start().await;
    let apply = async |manager: &str, spec: Value| {
        let intent = json!({"apiVersion": "probe.example.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec});
        scene
            .widgets
            .patch("w", &PatchParams::apply(manager), &Patch::Apply(&intent))
            .await
    };
    apply(
        "one",
        json!({"color": "red", "ports": [{"port": 80, "name": "web"}, {"port": 443}]}),
    )
    .await
    .expect("created by apply");
    apply("two", json!({"replicas": 2, "ports": [{"port": 8080}]}))
        .await
        .expect("applied");
    let ports = |widget: &crate::Widget| widget.spec.ports.iter().map(|port| port.port).collect::<Vec<_>>();
    assert_eq!(
        ports(&scene.widgets.get("w").await.expect("a widget")),
        [80, 443, 8080]
    );
    let (code, text) = refusal(apply("two", json!({"color": "blue"})).await);
    assert_eq!(
        (code, text.as_str()),
        (
            409,
            "Apply failed with 1 conflict: conflict with \"one\": .spec.color"
        )
    );
    let left = apply("one", json!({"color": "red", "ports": [{"port": 443}]}))
        .await
        .expect("applied");
    assert_eq!(
        (ports(&left), left.spec.replicas),
        (vec![443, 8080], Some(2)),
        "port 80 was only of `one`"
    );
    let same = apply("one", json!({"color": "red", "ports": [{"port": 443}]}))
        .await
        .expect("applied");
    assert_eq!(
        same.resource_version(),
        left.resource_version(),
        "what changes nothing is not written"
    );
    let forced = json!({"apiVersion": "probe.example.io/v1", "kind": "Widget", "spec": {"color": "blue"}});
    let params = PatchParams::apply("two").force();
    let forced = scene.widgets.patch("w", &params, &Patch::Apply(&forced)).await;
    let forced = forced.expect("applied by force");
    assert_eq!(
        (forced.spec.color.as_deref(), forced.spec.replicas, ports(&forced)),
        (Some("blue"), None, vec![443])
    );
}

#[tokio::test]
async fn subresources_change_their_part_and_nothing_else() {
    let scene = Scene::start().await;
    let mut created = scene.create("w", "red").await;
    created.spec.color = Some("ignored".to_owned());
    created.status = Some(WidgetStatus {
        replicas: Some(1),
        selector: Some("app=w".to_owned()),
        observed_generation: None,
    });
    let stated = scene
        .widgets
        .replace_status("w", &PostParams::default(), &created)
        .await
        .expect("stated");
    assert_eq!(
        (stated.spec.color.as_deref(), stated.metadata.generation),
        (Some("red"), Some(1))
    );
    assert_eq!(stated.status, created.status);
    let patch = json!({"spec": {"color": "ignored"}, "status": {"replicas": 2}});
    let patched = scene
        .widgets
        .patch_status("w", &PatchParams::default(), &Patch::Merge(&patch))
        .await;
    assert_eq!(
        patched
            .expect("patched")
            .status
            .and_then(|status| status.replicas),
        Some(2)
    );
    let plain = scene
        .widgets
        .patch("w", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .expect("patched");
    assert_eq!(
        plain.status.clone().and_then(|status| status.replicas),
        Some(2),
        "the object itself does not take a status"
    );
    assert_eq!(scene.widgets.get_status("w").await.expect("a status"), plain);
}

#[tokio::test]
async fn entries_are_made_changed_and_checked_for_concurrent_change() {
    let scene = Scene::start().await;
    let params = PostParams::default();
    for expected in ["1", "11", "111"] {
        let mut entry = scene
            .maps
            .entry("m")
            .await
            .expect("an entry")
            .or_insert(|| map("m", &json!({"count": ""})))
            .and_modify(|map| {
                map.data
                    .get_or_insert_default()
                    .entry("count".to_owned())
                    .or_default()
                    .push('1');
            });
        entry.commit(&params).await.expect("committed");
        assert_eq!(
            scene.maps.get("m").await.expect("a map").data.expect("data")["count"],
            expected
        );
    }
    let mut slow = scene
        .maps
        .entry("m")
        .await
        .expect("an entry")
        .or_insert(ConfigMap::default)
        .and_modify(|map| map.data = None);
    scene
        .maps
        .patch(
            "m",
            &PatchParams::default(),
            &Patch::Merge(json!({"data": {"x": "y"}})),
        )
        .await
        .expect("patched");
    assert!(slow.commit(&params).await.is_err(), "another write was faster");
}

#[tokio::test]
async fn metadata_alone_is_read_and_patched() {
    let scene = Scene::start().await;
    scene.create("w", "red").await;
    let bare = scene.widgets.get_metadata("w").await.expect("metadata");
    assert_eq!(bare.labels()["color"], "red");
    let patch = ObjectMeta {
        annotations: Some([("a".to_owned(), "b".to_owned())].into()),
        ..ObjectMeta::default()
    };
    let patch = patch.into_request_partial::<crate::Widget>();
    let patched = scene
        .widgets
        .patch_metadata("w", &PatchParams::apply("probe"), &Patch::Apply(&patch))
        .await;
    assert_eq!(patched.expect("patched").annotations()["a"], "b");
    let listed = scene
        .widgets
        .list_metadata(&ListParams::default())
        .await
        .expect("a list");
    assert_eq!(listed.items.len(), 1);
    assert_eq!(listed.items[0].annotations()["a"], "b");
    let whole = scene.widgets.get("w").await.expect("a widget");
    assert_eq!(whole.spec.color.as_deref(), Some("red"));
}

#[tokio::test]
async fn a_dry_run_answers_as_if_and_leaves_no_trace() {
    let scene = Scene::start().await;
    let before = scene.widgets.list(&ListParams::default()).await.expect("a list");
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let created = scene
        .widgets
        .create(&dry, &widget("w", "red"))
        .await
        .expect("as if");
    assert!(created.uid().is_some() && created.resource_version().is_none());
    let apply =
        json!({"apiVersion": "probe.example.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}});
    let applied = scene
        .widgets
        .patch("w", &PatchParams::apply("p").dry_run(), &Patch::Apply(&apply))
        .await;
    assert_eq!(applied.expect("as if").resource_version(), None);
    let after = scene.widgets.list(&ListParams::default()).await.expect("a list");
    assert_eq!(
        (after.items.len(), after.metadata.resource_version),
        (0, before.metadata.resource_version)
    );
    let real = scene.create("w", "red").await;
    let gone = scene
        .widgets
        .delete("w", &DeleteParams::default().dry_run())
        .await;
    gone.expect("as if");
    assert_eq!(scene.widgets.get("w").await.expect("still there"), real);
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let scene = Scene::start().await;
    for (name, color) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        scene.create(name, color).await;
    }
    let red = ListParams::default().labels("color=red");
    let gone = scene
        .widgets
        .delete_collection(&DeleteParams::default(), &red)
        .await
        .expect("deleted");
    let gone: Vec<String> = gone
        .left()
        .expect("a list of what went")
        .iter()
        .map(kube::ResourceExt::name_any)
        .collect();
    assert_eq!(gone, ["a", "c"]);
    let left = scene.widgets.list(&ListParams::default()).await.expect("a list");
    assert_eq!(
        left.iter().map(kube::ResourceExt::name_any).collect::<Vec<_>>(),
        ["b"]
    );
}

#[tokio::test]
async fn lists_are_read_in_pages_of_one_state() {
    let scene = Scene::start().await;
    for name in ["a", "b", "c", "d", "e"] {
        scene.create(name, "red").await;
    }
    let mut params = ListParams::default().limit(2);
    let mut names = Vec::new();
    loop {
        let page = scene.widgets.list(&params).await.expect("a page");
        names.extend(page.items.iter().map(kube::ResourceExt::name_any));
        let Some(token) = page.metadata.continue_.filter(|token| !token.is_empty()) else {
            break;
        };
        // What happens between two pages is not part of the list.
        scene
            .widgets
            .delete("d", &DeleteParams::default())
            .await
            .map(drop)
            .unwrap_or_default();
        scene
            .widgets
            .create(&PostParams::default(), &widget("f", "red"))
            .await
            .map(drop)
            .unwrap_or_default();
        params = params.continue_token(&token);
    }
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
}
