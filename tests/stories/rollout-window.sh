# A change waits for its window. This one is open for a minute in four years.
# flags: --clusters 2
clusters_in_reach
placement everywhere
config settings hello

helloworld() {
  apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: $addon, annotations: {tidegate.io/rollout-window: "$1"}}
spec:
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1.0.0}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: settings, namespace: $namespace}}
  installStrategy:
    type: Placements
    placements:
    - {name: everywhere, namespace: $namespace}
YAML
}
template v1.0.0
helloworld "0 0 29 2 * for 1m in Europe/Paris"
say "a first installation does not wait"
done_on InstallSucceed cluster1 cluster2

say "a change does"
config settings ahoy
until_is WaitingForWindow reason cluster1 Reconciling
until_is WaitingForWindow reason cluster2 Reconciling
is hello greeting cluster1
is "waiting for a window of the annotation tidegate.io/rollout-window (0 0 29 2 * for 1m in Europe/Paris)" message cluster1 Configured

say "until a window is open"
helloworld "0 0 29 2 * for 1m; * * * * * for 2m"
until_is ahoy greeting cluster1
until_is ahoy greeting cluster2
done_on UpgradeSucceed cluster1 cluster2

say "a window that never opens is denied"
refused "the selected months do not have this day" <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: $addon, annotations: {tidegate.io/rollout-window: "0 0 30 2 * for 1h"}}
spec: {}
YAML
