//! Several deployment configurations as one, the uppermost layer first.
//!
//! Decides, for every setting, which of them has the word. Never decides which of them count (`config/layers.rs`).

use std::borrow::Cow;

use api::v1alpha1::ProxyConfig;
use model::DEFAULT_INSTALL_NAMESPACE;
use store::DeploymentConfig;

/// Returns what deployment configurations say together; nothing where there are none. Lists whose later entries win,
/// variables and resources, are put together so that those of an upper layer come last; of everything else the uppermost that
/// says something has the word.
pub(crate) fn merged<'c>(layers: &[&'c DeploymentConfig]) -> Option<Cow<'c, DeploymentConfig>> {
    let (first, others) = layers.split_first()?;
    if others.is_empty() {
        return Some(Cow::Borrowed(first));
    }
    let upwards = || layers.iter().rev();
    let says_nothing = ProxyConfig::default();
    let mut all = DeploymentConfig {
        variables: upwards().flat_map(|one| &one.variables).cloned().collect(),
        resources: upwards().flat_map(|one| &one.resources).cloned().collect(),
        ..(*first).clone()
    };
    // An API server fills in the default where no namespace was written, and that looks like one that was asked for.
    let moved = layers.iter().map(|one| &one.install_namespace);
    if let Some(said) = moved.clone().find(|one| ***one != *DEFAULT_INSTALL_NAMESPACE) {
        all.install_namespace = said.clone();
    }
    if let Some(lower) = layers.iter().find(|one| one.proxy != says_nothing) {
        all.proxy = lower.proxy.clone();
    }
    all.registries = layers.iter().find_map(|one| one.registries.clone());
    all.nodes.selector = layers.iter().find_map(|one| one.nodes.selector.clone());
    all.nodes.tolerations = layers.iter().find_map(|one| one.nodes.tolerations.clone());
    Some(Cow::Owned(all))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use store::Name;

    fn config(variables: &[(&str, &str)], namespace: &str) -> DeploymentConfig {
        let pairs = variables
            .iter()
            .map(|(name, value)| (Name::from(*name), Name::from(*value)));
        DeploymentConfig {
            variables: pairs.collect(),
            install_namespace: namespace.into(),
            ..DeploymentConfig::default()
        }
    }

    #[test]
    fn one_is_itself_and_none_is_none() {
        let one = config(&[("A", "1")], "n");
        assert_eq!(merged(&[]), None);
        assert!(matches!(merged(&[&one]), Some(Cow::Borrowed(found)) if *found == one));
    }

    #[test]
    fn variables_of_an_upper_layer_come_last_for_the_later_wins() {
        let (upper, lower) = (
            config(&[("A", "1"), ("A", "2")], "n"),
            config(&[("B", "3"), ("A", "4")], "n"),
        );
        let all = merged(&[&upper, &lower]).expect("there are two");
        let told: Vec<String> = all
            .variables
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(told, ["B=3", "A=4", "A=1", "A=2"]);
    }

    #[test]
    fn the_uppermost_chosen_namespace_counts() {
        let rows = [
            (["open-cluster-management-agent-addon", "mine"], "mine"),
            (["mine", "open-cluster-management-agent-addon"], "mine"),
            (["", "mine"], ""),
            (["one", "other"], "one"),
            (
                ["open-cluster-management-agent-addon"; 2],
                "open-cluster-management-agent-addon",
            ),
        ];
        for (namespaces, expected) in rows {
            let [upper, lower] = namespaces.map(|namespace| config(&[], namespace));
            let all = merged(&[&upper, &lower]).expect("there are two");
            assert_eq!(&*all.install_namespace, expected, "{namespaces:?}");
        }
    }

    #[test]
    fn of_every_other_setting_the_uppermost_that_says_something_has_the_word() {
        let mut upper = config(&[], "n");
        let mut lower = config(&[], "n");
        lower.proxy.http_proxy = "http://lower".to_owned();
        lower.registries = Some(Vec::new());
        lower.nodes.selector = json!({"a": "b"}).as_object().cloned();
        lower.nodes.tolerations = Some(vec![json!({"key": "lower"})]);
        lower.resources = vec![("*:*:*".into(), json!({"limits": {"cpu": 1}}))];
        upper.resources = vec![("a:b:c".into(), json!({}))];
        let all = merged(&[&upper, &lower]).expect("there are two").into_owned();
        assert_eq!(all.proxy, lower.proxy);
        assert_eq!(all.registries, lower.registries);
        assert_eq!(all.nodes, lower.nodes);
        assert_eq!(
            all.resources,
            [lower.resources.clone(), upper.resources.clone()].concat()
        );
        upper.nodes.selector = json!({}).as_object().cloned();
        upper.nodes.tolerations = Some(Vec::new());
        upper.proxy.no_proxy = "upper".to_owned();
        let all = merged(&[&upper, &lower]).expect("there are two");
        assert_eq!(
            all.nodes, upper.nodes,
            "an empty selector is given, and so are no tolerations"
        );
        assert_eq!(all.proxy, upper.proxy, "a proxy is taken whole");
    }
}
