# A change fails on the first clusters and is undone automatically. The failed content is not rolled out again; a fix is.
# flags: --clusters 4 --fault cluster*=apply-failure,manifest=broken:quota-exceeded
clusters_in_reach
placement everywhere

# settings NAME AGENT: a configuration that sets the name of the agent. The name "broken" fails on every cluster.
settings() {
  apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {name: $1, namespace: $namespace}
spec: {customizedVariables: [{name: AGENT, value: $2}]}
YAML
}
helloworld() {
  apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: $addon}
spec:
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: $1, namespace: $namespace}}
  installStrategy:
    type: Placements
    placements:
    - name: everywhere
      namespace: $namespace
      rolloutStrategy: {type: Progressive, progressive: {maxConcurrency: 2}}
YAML
}
agent() { work "$1" '.spec.workload.manifests[0].metadata.name'; }
says() { value ".status.conditions[?(@.type==\"$1\")].reason" cma "$addon"; }
noted() { value ".status.installProgressions[0].conditions[?(@.type==\"$1\")].status" cma "$addon"; }

apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: $addon}
spec:
  addonName: $addon
  agentSpec:
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{AGENT}}", namespace: default}}
YAML
rollout_settings <<<"  onFailure: Undo"
settings first agent
helloworld first
done_on InstallSucceed cluster1 cluster2 cluster3 cluster4
until_is True noted KnownGood

say "the next settings fail on the first clusters, and the same commit prunes the old ones"
kept() { kubectl get controllerrevisions -A -l "tidegate.io/kept-content=$addon" -o name | wc -l; }
until_is 2 kept
settings second broken
helloworld second
kubectl delete addondeploymentconfig first -n "$namespace" >/dev/null
until_is RolledBack says Ready
is RolledBack says Stalled
for cluster in cluster1 cluster2 cluster3 cluster4; do
  until_is agent agent "$cluster"
  until_is True status "$cluster" Ready
done
is "$namespace/second" kubectl get cma "$addon" -o 'jsonpath={.status.installProgressions[0].configReferences[0].desiredConfig.namespace}/{.status.installProgressions[0].configReferences[0].desiredConfig.name}'

say "other content with the same name is rolled out"
settings second better
until_is Ready says Ready
for cluster in cluster1 cluster2 cluster3 cluster4; do
  is better agent "$cluster"
done
is "" noted Undone

say "an edit in place that fails is undone as well"
until_is 3 kept
settings second broken
until_is RolledBack says Ready
for cluster in cluster1 cluster2 cluster3 cluster4; do
  until_is better agent "$cluster"
done

say "tidegate rollout undo restores the content of the object, and prints the revision"
tidegate rollout undo "$addon" | grep -q "from ControllerRevision $namespace/$addon-.* (revision 3)"
until_is Ready says Ready
is better kubectl get addondeploymentconfig second -n "$namespace" -o 'jsonpath={.spec.customizedVariables[0].value}'

say "tidegate rollout undo recreates a pruned object"
desired() { value '.status.installProgressions[0].configReferences[0].desiredConfig.name' cma "$addon"; }
kubectl patch addonrollout "$addon" --type=merge -p '{"spec":{"pause":{"reason":"a pruned object"}}}' >/dev/null
settings third other
helloworld third
kubectl delete addondeploymentconfig second -n "$namespace" >/dev/null
until_is third desired
tidegate rollout undo "$addon" | grep -q "second\" from ControllerRevision $namespace/$addon-.* (revision 3)"
is better kubectl get addondeploymentconfig second -n "$namespace" -o 'jsonpath={.spec.customizedVariables[0].value}'
until_is second desired
kubectl patch addonrollout "$addon" --type=merge -p '{"spec":{"pause":null}}' >/dev/null
until_is Ready says Ready

say "an invalid value is denied"
refused "spec.onFailure: Unsupported value: \"undo\"" <<YAML
apiVersion: tidegate.io/v1alpha1
kind: AddOnRollout
metadata: {name: $addon}
spec: {onFailure: undo}
YAML

say "an annotation that an earlier version read is denied"
refused "set spec.onFailure of the AddOnRollout" <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: $addon, annotations: {tidegate.io/on-failure: undo}}
spec: {}
YAML

say "the settings are not deleted alone"
if said=$(kubectl delete addonrollout "$addon" 2>&1); then fail "it was deleted: $said"; fi
grep -qF "has settings of the rollouts of add-on" <<<"$said" || fail "another refusal: $said"

say "kept content and the settings are deleted with the add-on"
kubectl delete cma "$addon" --wait=false >/dev/null
until_is 0 kept
until_is "" kubectl get addonrollouts -o name
