# A change waits for its window. This one is open for a minute in four years.
# flags: --clusters 2
clusters_in_reach
placement everywhere
config settings hello

rollout_settings <<YAML
  windows: [{cron: "0 0 29 2 *", duration: 1m, timeZone: Europe/Paris}]
YAML
template v1.0.0
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1.0.0}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: settings, namespace: $namespace}}
  installStrategy:
    type: Placements
    placements:
    - {name: everywhere, namespace: $namespace}
YAML
say "a first installation does not wait"
done_on InstallSucceed cluster1 cluster2

say "a change does"
config settings ahoy
until_is WaitingForWindow reason cluster1 Reconciling
until_is WaitingForWindow reason cluster2 Reconciling
is hello greeting cluster1
is "waiting for a window of the rollout (0 0 29 2 * for 1m in Europe/Paris)" message cluster1 Configured

say "until a window is open"
rollout_settings <<YAML
  windows:
  - {cron: "0 0 29 2 *", duration: 1m}
  - {cron: "* * * * *", duration: 2m}
YAML
until_is ahoy greeting cluster1
until_is ahoy greeting cluster2
done_on UpgradeSucceed cluster1 cluster2

say "a window that never opens is denied"
refused "the selected months do not have this day" <<YAML
apiVersion: tidegate.io/v1alpha1
kind: AddOnRollout
metadata: {name: $addon}
spec: {windows: [{cron: "0 0 30 2 *", duration: 1h}]}
YAML
