# The webhook denies a version that does not exist if it can, and otherwise a condition reports it.
# flags: --clusters 2
clusters_in_reach
placement everywhere
template v1
template v2
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
done_on InstallSucceed cluster1 cluster2
is v2 field cluster1 .status.currentVersion

say "a version that does not exist is denied, and the message lists the existing ones"
refused "spec.desiredVersion" '"v3"' '"v1", "v2"' <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: $addon, namespace: cluster1}
spec: {desiredVersion: v3}
YAML

say "a deleted version in use is reported, and running agents continue"
kubectl patch mca "$addon" -n cluster1 --type=merge -p '{"spec":{"desiredVersion":"v1"}}' >/dev/null
done_on RollbackSucceed cluster1
kubectl delete addontemplate "$addon-v1" >/dev/null
until_is RollbackFailed reason cluster1
is "version v1 no longer has an AddOnTemplate; its ManifestWorks are not changed" message cluster1
is v1 field cluster1 .status.currentVersion
is v1 carried cluster1
is v2 field cluster2 .status.currentVersion

say "an existing version fixes it"
kubectl patch mca "$addon" -n cluster1 --type=merge -p '{"spec":{"desiredVersion":"v2"}}' >/dev/null
until_is v2 field cluster1 .status.currentVersion
until_is True status cluster1 Ready
