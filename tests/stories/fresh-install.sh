# A fresh install deploys the default version to every cluster.
# flags: --clusters 3
clusters_in_reach
placement everywhere
template v0.10.0
config deploy-config-xxx hello

say "the add-on has a deployment configuration and a placement, and no version"
apply_addon <<YAML
  configuration:
    configs:
    - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, name: deploy-config-xxx, namespace: $namespace}
  installStrategy:
    type: Placements
    placements:
    - {name: everywhere, namespace: $namespace}
YAML
until_is v0.10.0 value .status.defaultVersion cma "$addon"
is '["v0.10.0"]' kubectl get cma "$addon" -o 'jsonpath={.status.supportedVersions}'

done_on InstallSucceed cluster1 cluster2 cluster3
for cluster in cluster1 cluster2 cluster3; do
  is v0.10.0 field "$cluster" .status.currentVersion
  is "" field "$cluster" .status.lastVersion
  is v0.10.0 carried "$cluster"
  is hello greeting "$cluster"
  is "install completed with no errors." message "$cluster"
done

say "the applied configuration is the desired one, and the work has the same hashes under both names"
is "$(field cluster2 '.status.configReferences[*].desiredConfigSpecHash')" field cluster2 '.status.configReferences[*].lastAppliedConfigSpecHash'
is "$(work cluster2 '.metadata.annotations.open-cluster-management\.io/config-spec-hash')" work cluster2 .metadata.annotations.configSpecHash

say "scripts can wait for the AddOnRollout on every hub, with any CRDs"
kubectl wait --for=condition=Ready "addonrollout/$addon" --timeout="${patience}s" >/dev/null || fail "the add-on's AddOnRollout is not Ready"
is "3 of 3" kubectl get addonrollout "$addon" -o 'jsonpath={.status.clusters.ready} of {.status.clusters.total}'
