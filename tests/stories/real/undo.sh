# A change that fails is undone automatically, and the clusters keep the last configuration that worked.
clusters_in_reach
placement everywhere
settings() {
  apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {name: settings, namespace: $namespace}
spec: {agentInstallNamespace: "", customizedVariables: [{name: AGENT, value: $1}]}
YAML
}
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
settings first
rollout_settings <<<"  onFailure: Undo"
apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: $addon}
spec:
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: settings, namespace: $namespace}}
  installStrategy:
    type: Placements
    placements: [{name: everywhere, namespace: $namespace, rolloutStrategy: {type: Progressive, progressive: {maxConcurrency: 2}}}]
YAML
for n in $(seq "$REAL_CLUSTERS"); do done_on InstallSucceed "cluster$n"; done
good() { value '.status.installProgressions[0].conditions[?(@.type=="KnownGood")].status' cma "$addon"; }
until_is True good

say "the API servers of the clusters refuse the next name"
settings Not_A_Name
rollout() { value '.status.conditions[?(@.type=="Ready")].reason' addonrollout "$addon"; }
until_is RolledBack rollout
for n in $(seq "$REAL_CLUSTERS"); do
  until_is configmap/first on_cluster "cluster$n" get configmap first -n default -o name
  until_is True status "cluster$n" Ready
done

say "a corrected change is rolled out"
settings second
until_is Ready rollout
for n in $(seq "$REAL_CLUSTERS"); do
  until_is configmap/second on_cluster "cluster$n" get configmap second -n default -o name
done
