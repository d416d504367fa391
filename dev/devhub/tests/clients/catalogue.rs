//! Discovery: both formats must have the same content, and every listed resource must be served.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::Api;
use kube::api::{DynamicObject, ListParams};
use kube::core::{GroupVersion, GroupVersionKind};
use kube::discovery::{self, Discovery, Scope, verbs};

use crate::{PATIENCE, Scene, within};

/// Everything that a discovery tells, in lines.
fn told(discovery: &Discovery) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for group in discovery.groups() {
        for version in group.versions() {
            for (resource, capabilities) in group.versioned_resources(version) {
                let mut operations = capabilities.operations.clone();
                operations.sort();
                let mut below: Vec<String> = capabilities
                    .subresources
                    .iter()
                    .map(|(subresource, capabilities)| {
                        let mut operations = capabilities.operations.clone();
                        operations.sort();
                        let name = subresource
                            .plural
                            .rsplit('/')
                            .next()
                            .unwrap_or_default()
                            .to_owned();
                        format!("{name}={}", operations.join("+"))
                    })
                    .collect();
                below.sort();
                lines.insert(format!(
                    "{} {} {} {:?} {operations:?} {below:?}",
                    resource.api_version, resource.kind, resource.plural, capabilities.scope
                ));
            }
        }
    }
    lines
}

#[tokio::test]
async fn both_kinds_of_discovery_tell_the_same() {
    let scene = Scene::start().await;
    if scene.lacks("discovery in one answer", 27) {
        return;
    }
    let legacy = Discovery::new(scene.client.clone())
        .run()
        .await
        .expect("discovered");
    let aggregated = Discovery::new(scene.client.clone())
        .run_aggregated()
        .await
        .expect("discovered");
    assert_eq!(told(&legacy), told(&aggregated));
    let widget = told(&legacy)
        .into_iter()
        .find(|line| line.contains("Widget"))
        .expect("the kind is listed");
    assert_eq!(
        widget,
        "probe.example.io/v1 Widget widgets Namespaced [\"create\", \"delete\", \"deletecollection\", \"get\", \"list\", \"patch\", \
         \"update\", \"watch\"] [\"status=get+patch+update\"]"
    );
}

#[tokio::test]
async fn everything_that_can_be_listed_is_listed_and_watched() {
    let scene = Scene::start().await;
    let discovery = Discovery::new(scene.client.clone())
        .run()
        .await
        .expect("discovered");
    let mut kinds = 0;
    for group in discovery.groups() {
        for (resource, capabilities) in group.recommended_resources() {
            if !capabilities.supports_operation(verbs::LIST) {
                continue;
            }
            let api: Api<DynamicObject> = Api::all_with(scene.client.clone(), &resource);
            let list = api.list(&ListParams::default().limit(1)).await;
            let list = list.unwrap_or_else(|error| panic!("{}: {error}", resource.plural));
            kinds += 1;
            if !capabilities.supports_operation(verbs::WATCH) {
                continue;
            }
            let version = list.metadata.resource_version.unwrap_or_default();
            let params = kube::api::WatchParams::default().timeout(1);
            let watched = api.watch(&params, &version).await;
            watched.map_or_else(|error| panic!("{}: {error}", resource.plural), drop);
        }
    }
    assert!(kinds >= 14, "only {kinds} kinds");
}

#[tokio::test]
async fn single_kinds_and_groups_are_found() {
    let scene = Scene::start().await;
    let kind = GroupVersionKind::gvk("probe.example.io", "v1", "Widget");
    let (resource, capabilities) = discovery::pinned_kind(&scene.client, &kind).await.expect("found");
    assert_eq!(
        (resource.plural.as_str(), capabilities.scope),
        ("widgets", Scope::Namespaced)
    );
    let nothing = GroupVersionKind::gvk("probe.example.io", "v1", "Gadget");
    assert!(discovery::pinned_kind(&scene.client, &nothing).await.is_err());
    let group = discovery::group(&scene.client, "probe.example.io")
        .await
        .expect("found");
    assert_eq!(group.preferred_version(), Some("v1"));
    let version = GroupVersion::gv("", "v1");
    let core = discovery::pinned_group(&scene.client, &version)
        .await
        .expect("found");
    assert!(core.recommended_kind("ConfigMap").is_some() && core.recommended_kind("Widget").is_none());
    assert_eq!(
        scene.client.apiserver_version().await.expect("a version").major,
        "1"
    );
}

#[tokio::test]
async fn a_kind_that_goes_is_not_told_any_more() {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    let scene = Scene::start().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(scene.client.clone());
    let name = "widgets.probe.example.io";
    let uid = definitions
        .get(name)
        .await
        .expect("a definition")
        .metadata
        .uid
        .unwrap_or_default();
    let gone = kube::runtime::wait::await_condition(
        definitions.clone(),
        name,
        kube::runtime::wait::conditions::is_deleted(&uid),
    );
    definitions
        .delete(name, &kube::api::DeleteParams::default())
        .await
        .expect("deleted");
    tokio::time::timeout(PATIENCE, gone)
        .await
        .expect("in time")
        .expect("gone");
    for aggregated in [false, true] {
        // A real server forgets the group a moment after its last definition.
        within(async {
            loop {
                let told = Discovery::new(scene.client.clone());
                let told = if aggregated {
                    told.run_aggregated().await
                } else {
                    told.run().await
                };
                if !told.expect("discovered").has_group("probe.example.io") {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
    }
}
