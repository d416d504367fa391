# The configuration of one cluster overrides the placement's and the default, per type.
# flags: --clusters 3
clusters_in_reach
placement everywhere
template v1
config base "hello default"
config shared "hello placement"
config cluster1-config "hello mine"
adc="group: addon.open-cluster-management.io, resource: addondeploymentconfigs, namespace: $namespace"
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: base, namespace: $namespace}}
  installStrategy:
    type: Placements
    placements:
    - {name: everywhere, namespace: $namespace, configs: [{$adc, name: shared}]}
YAML
done_on InstallSucceed cluster1 cluster2 cluster3
is "hello placement" greeting cluster1
is "addondeploymentconfigs addontemplates" field cluster1 '.status.supportedConfigs[*].resource'

say "cluster1 uses its own"
kubectl patch mca "$addon" -n cluster1 --type=merge -p "{\"spec\":{\"configs\":[{\"group\":\"addon.open-cluster-management.io\",\"resource\":\"addondeploymentconfigs\",\"name\":\"cluster1-config\",\"namespace\":\"$namespace\"}]}}" >/dev/null
until_is "hello mine" greeting cluster1
done_on UpgradeSucceed cluster1
is "hello placement" greeting cluster2

say "an edit of the placement's configuration does not reach it"
config shared "hello again"
until_is "hello again" greeting cluster2
done_on UpgradeSucceed cluster2 cluster3
is "hello mine" greeting cluster1
until_is "selected clusters 3. configured addons 3/3 completed with no errors, 0 failed 0 timeout." progression

say "a type that the add-on does not support is denied"
refused "spec.configs[0]" "addondeploymentconfigs" <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: $addon, namespace: cluster3}
spec: {configs: [{group: "", resource: configmaps, name: x, namespace: $namespace}]}
YAML

say "after the override is removed, it inherits again"
kubectl patch mca "$addon" -n cluster1 --type=merge -p '{"spec":{"configs":null}}' >/dev/null
until_is "hello again" greeting cluster1
