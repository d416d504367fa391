# A failing canary is rolled back by referring to the old configuration again.
# flags: --clusters 4 --startup-time 2s --fault cluster1=unavailable,from=2:image-does-not-start
clusters_in_reach
placement everywhere
placement canary-placement tier=canary
kubectl label managedcluster cluster1 tier=canary >/dev/null
template v0.10.0
template v0.11.0
config deploy-config-xxx hello
hub_config hub-config-xxx v0.10.0
hub_config hub-config-yyy v0.11.0

helloworld() {
  apply_addon <<YAML
  configuration:
    configs:
    - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, name: deploy-config-xxx, namespace: $namespace}
    - {group: addon.open-cluster-management.io, resource: addonhubconfigs, name: $1}
    rolloutStrategy:
      type: RollingUpdateWithPlacement
      rollingUpdateWithPlacement: {name: canary-placement, namespace: $namespace}
  installStrategy:
    type: Placements
    placements:
    - {name: everywhere, namespace: $namespace}
YAML
}
helloworld hub-config-xxx
done_on InstallSucceed cluster1 cluster2 cluster3 cluster4

say "the new version fails on the canary only"
helloworld hub-config-yyy
until_is UpgradeFailed reason cluster1
until_is False status cluster1 Ready
is v0.10.0 field cluster2 .status.currentVersion
is v0.11.0 carried cluster1

say "back to the old configuration"
helloworld hub-config-xxx
until_is v0.10.0 carried cluster1
until_is "" kubectl get manifestworks -A -l "open-cluster-management.io/addon-version=v0.11.0" -o name
is v0.10.0 field cluster4 .status.currentVersion
until_is v0.11.0 field cluster1 .status.lastVersion
