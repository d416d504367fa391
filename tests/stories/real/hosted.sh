# A template add-on that is to be hosted on another cluster is not deployed, and says so.
clusters_in_reach
template v1
config base hello
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: base, namespace: $namespace}}
  installStrategy: {type: Manual}
YAML
apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: $addon, namespace: cluster2, annotations: {addon.open-cluster-management.io/hosting-cluster-name: cluster1}}
spec: {}
YAML
until_is 'a template add-on cannot be hosted on "cluster1"' message cluster2
is "" works_left

say "without the annotation it is deployed"
kubectl annotate mca "$addon" -n cluster2 addon.open-cluster-management.io/hosting-cluster-name- >/dev/null
done_on InstallSucceed cluster2
is hello on_cluster cluster2 get configmap greeting -n default -o 'jsonpath={.data.greeting}'
