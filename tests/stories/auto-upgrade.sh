# A new default version upgrades every cluster without a requested version.
# flags: --clusters 3
clusters_in_reach
placement everywhere
template v1
config base hello
apply_addon <<YAML
  configuration:
    configs:
    - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, name: base, namespace: $namespace}
  installStrategy:
    type: Placements
    placements:
    - {name: everywhere, namespace: $namespace}
YAML
done_on InstallSucceed cluster1 cluster2 cluster3
is v1 field cluster1 .status.currentVersion

say "cluster3 stays on v1, which a user has requested"
kubectl patch mca "$addon" -n cluster3 --type=merge -p '{"spec":{"desiredVersion":"v1"}}' >/dev/null

say "v2 is published: the others are upgraded"
template v2
until_is v2 value .status.defaultVersion cma "$addon"
is '["v1","v2"]' kubectl get cma "$addon" -o 'jsonpath={.status.supportedVersions}'
done_on UpgradeSucceed cluster1 cluster2
for cluster in cluster1 cluster2; do
  is v2 field "$cluster" .status.currentVersion
  is v1 field "$cluster" .status.lastVersion
  is v2 carried "$cluster"
done
is v1 field cluster3 .status.currentVersion
is v1 carried cluster3
