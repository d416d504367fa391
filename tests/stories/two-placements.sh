# Two placements install the same add-on with two configurations; the later one takes precedence where both select.
# flags: --clusters 5
clusters_in_reach
kubectl label managedcluster cluster1 cluster2 cluster3 cloud=aws >/dev/null
kubectl label managedcluster cluster4 cluster5 cloud=gcp >/dev/null
kubectl label managedcluster cluster3 edge=true >/dev/null
placement aws-placement cloud=aws
placement gcp-placement cloud=gcp
placement edge-placement edge=true
template v1
config base hello
config aws-config "hello aws"
config gcp-config "hello gcp"
config edge-config "hello edge"
adc="group: addon.open-cluster-management.io, resource: addondeploymentconfigs, namespace: $namespace"
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: base, namespace: $namespace}}
  installStrategy:
    type: Placements
    placements:
    - {name: aws-placement, namespace: $namespace, configs: [{$adc, name: aws-config}], addonSpec: {installNamespace: aws-addon-ns}}
    - {name: gcp-placement, namespace: $namespace, configs: [{$adc, name: gcp-config}], addonSpec: {installNamespace: gcp-addon-ns}}
    - {name: edge-placement, namespace: $namespace, configs: [{$adc, name: edge-config}]}
YAML
done_on InstallSucceed cluster1 cluster2 cluster3 cluster4 cluster5
is "hello aws" greeting cluster1
is "hello gcp" greeting cluster4
is "hello edge" greeting cluster3
is aws-addon-ns field cluster1 .spec.installNamespace
is gcp-addon-ns field cluster5 .spec.installNamespace

say "the counters show which placement configures how many clusters"
until_is "selected clusters 3. configured addons 2/2 completed with no errors, 0 failed 0 timeout." progression 0
until_is "selected clusters 2. configured addons 2/2 completed with no errors, 0 failed 0 timeout." progression 1
until_is "selected clusters 1. configured addons 1/1 completed with no errors, 0 failed 0 timeout." progression 2

say "an edit of one configuration updates only its clusters"
before=$(work cluster4 .metadata.generation)
config aws-config "hello again"
until_is "hello again" greeting cluster1
until_is UpgradeSucceed reason cluster2
is "hello edge" greeting cluster3
is "$before" work cluster4 .metadata.generation

say "a user's edit of the install namespace is never reverted"
kubectl patch managedclusteraddons.v1alpha1.addon.open-cluster-management.io "$addon" -n cluster1 --type=merge -p '{"spec":{"installNamespace":"mine"}}' >/dev/null
kubectl annotate cma "$addon" touched=yes >/dev/null
sleep 1
is mine field cluster1 .spec.installNamespace
