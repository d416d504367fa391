# A new version is rolled out to the canary clusters first, and then to all clusters.
# flags: --clusters 5
clusters_in_reach
placement everywhere
placement canary-placement tier=canary
kubectl label managedcluster cluster1 cluster2 tier=canary >/dev/null
template v0.10.0
template v0.11.0
config deploy-config-xxx hello
hub_config hub-config-xxx v0.10.0

helloworld() {
  apply_addon <<YAML
  configuration:
    configs:
    - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, name: deploy-config-xxx, namespace: $namespace}
    - {group: addon.open-cluster-management.io, resource: addonhubconfigs, name: $1}
$2
  installStrategy:
    type: Placements
    placements:
    - {name: everywhere, namespace: $namespace}
YAML
}
rolling() {
  cat <<YAML
    rolloutStrategy:
      type: RollingUpdateWithPlacement
      rollingUpdateWithPlacement: {name: $1, namespace: $namespace, maxConcurrentlyUpdating: 25%}
YAML
}

helloworld hub-config-xxx ""
done_on InstallSucceed cluster1 cluster2 cluster3 cluster4 cluster5
is v0.10.0 field cluster5 .status.currentVersion

say "the name of the hub configuration changes, and the strategy selects the canaries"
hub_config hub-config-yyy v0.11.0
helloworld hub-config-yyy "$(rolling canary-placement)"
done_on UpgradeSucceed cluster1 cluster2
for cluster in cluster1 cluster2; do
  is v0.11.0 field "$cluster" .status.currentVersion
  is "upgrade completed with no errors." message "$cluster"
done
for cluster in cluster3 cluster4 cluster5; do
  is v0.10.0 field "$cluster" .status.currentVersion
  is v0.10.0 carried "$cluster"
done

say "the strategy selects all clusters"
placement global-placement
helloworld hub-config-yyy "$(rolling global-placement)"
done_on UpgradeSucceed cluster1 cluster2 cluster3 cluster4 cluster5
is v0.11.0 carried cluster5
