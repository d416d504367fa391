# An add-on that another program deploys: the program writes works and reports, the controllers assign configurations and complete rollouts.
# flags: --clusters 2 --progressing-reasons ocm
clusters_in_reach
placement everywhere
config base hello
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: base, namespace: $namespace}}
  installStrategy:
    type: Placements
    placements:
    - {name: everywhere, namespace: $namespace}
YAML

say "the controllers create the add-on, own it, assign the configuration, and wait for the program"
until_is WaitingForManifestApplied reason cluster1
is ClusterManagementAddOn field cluster1 '.metadata.ownerReferences[0].kind'
until_is ConfigurationsConfigured reason cluster1 Configured
hash=$(field cluster1 '.status.configReferences[0].desiredConfig.specHash')
[ ${#hash} -eq 64 ] || fail "\"$hash\" is not a hash"

# The part of the program for one cluster.
patch_status() {
  kubectl patch mca "$addon" -n "$1" --subresource=status --type=json -p "$2" >/dev/null
}
deploy() {
  local cluster=$1 hash=$2
  apply <<YAML
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata:
  name: addon-$addon-deploy-0
  namespace: $cluster
  labels: {open-cluster-management.io/addon-name: $addon}
  annotations:
    open-cluster-management.io/config-spec-hash: '{"addondeploymentconfigs.addon.open-cluster-management.io/$namespace/base":"$hash"}'
spec:
  workload:
    manifests:
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: agent, namespace: default}, data: {hash: "$hash"}}
YAML
}
applied_now='[{"op":"add","path":"/status/conditions/-","value":{"type":"ManifestApplied","status":"True","reason":"AddonManifestApplied","message":"manifests of addon are applied successfully","lastTransitionTime":"2026-01-01T00:00:00Z"}}]'

say "the program deploys and reports: the controllers complete the rollout"
for cluster in cluster1 cluster2; do
  deploy "$cluster" "$hash"
  until_is WaitingForManifestApplied reason "$cluster"
  patch_status "$cluster" "$applied_now"
  until_is Completed reason "$cluster"
  is "$hash" field "$cluster" '.status.configReferences[0].lastAppliedConfig.specHash'
  is AddonManifestApplied reason "$cluster" ManifestApplied
done
until_is "selected clusters 2. configured addons 2/2 completed with no errors, 0 failed 0 timeout." progression

say "an edit gets a new hash; the works are the program's, so only the status changes"
before=$(work cluster1 .metadata.resourceVersion)
config base ahoy
until_is "progressing... mca and work configs mismatch" message cluster1
is "$before" work cluster1 .metadata.resourceVersion
new=$(field cluster1 '.status.configReferences[0].desiredConfig.specHash')
[ "$new" != "$hash" ] || fail "the hash is the old one"
deploy cluster1 "$new"
deploy cluster2 "$new"
until_is Completed reason cluster1
until_is Completed reason cluster2
