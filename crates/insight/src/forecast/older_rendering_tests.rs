//! Works that an older version rendered otherwise: a plan shows that they will be written, before the new version is installed.

use kubernetes::field::Listing;
use serde_json::json;
use store::{Kind, ObjectKey, Settings};

use super::changes::changes;
use super::changes_text::changes_text;
use super::course::forecast;
use super::test_hub::{asked, at_rest, now, pod};

#[test]
fn works_of_an_older_rendering_are_forecast_to_be_written() {
    let tolerations = json!([{"key": "own", "operator": "Exists"}]);
    let template = pod(
        &json!({}),
        &json!({"tolerations": tolerations, "nodeSelector": {"own": "selector"}}),
    );
    let config =
        json!({"agentInstallNamespace": "", "nodePlacement": {"nodeSelector": {}, "tolerations": []}});
    let mut hub = at_rest(&asked(&json!([template]), &config));
    let calm = forecast(&hub, Settings::default(), now());
    assert!(calm[0].waves.is_empty(), "{calm:#?}");
    for cluster in ["cluster1", "cluster2", "cluster3"] {
        let key = ObjectKey::new(Kind::Work, cluster, "addon-calm-deploy-0");
        let mut work = hub.object(&key).expect("a work").clone();
        let pod = &mut work["spec"]["workload"]["manifests"][0]["spec"]["template"]["spec"];
        assert!(
            pod.get("tolerations").is_none() && pod.get("nodeSelector").is_none(),
            "{pod}"
        );
        // Versions before kept the tolerations of the template.
        pod["tolerations"] = tolerations.clone();
        hub.put(work);
    }
    let told = forecast(&hub, Settings::default(), now());
    let moved: Vec<&String> = told[0].waves.iter().flat_map(|wave| &wave.moved).collect();
    assert_eq!(moved, ["cluster1", "cluster2", "cluster3"]);
    let text = changes_text(&changes(&hub, &hub, Settings::default(), now()), Listing::Whole);
    let line = "3 works: Deployment calm/agent: spec.template.spec.tolerations: [{\"key\":\"own\",\"operator\":\"Exists\"}] -> absent";
    assert!(text.contains(line), "{text}");
}
