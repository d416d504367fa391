# Manifests reach every cluster, agents register with the hub, and an invalid add-on is rejected.
clusters_in_reach
placement everywhere
config base hello
apply <"$root/manifests/rbac/hub-permissions.yaml"
apply <<YAML
apiVersion: addon.open-cluster-management.io/v1beta1
kind: AddOnTemplate
metadata: {name: $addon-v1}
spec:
  addonName: $addon
  agentSpec:
    workload:
      manifests:
      - {apiVersion: v1, kind: ServiceAccount, metadata: {name: agent, namespace: open-cluster-management-agent-addon}}
      - apiVersion: v1
        kind: ConfigMap
        metadata: {name: greeting, namespace: open-cluster-management-agent-addon}
        data: {greeting: "{{GREETING}}"}
      - apiVersion: apps/v1
        kind: Deployment
        metadata: {name: agent, namespace: open-cluster-management-agent-addon}
        spec:
          replicas: 2
          selector: {matchLabels: {app: agent}}
          template:
            metadata: {labels: {app: agent}}
            spec: {serviceAccountName: agent, containers: [{name: agent, image: "busybox:1.36.1"}]}
  registration: [{type: KubeClient, kubeClient: {hubPermissions: [{type: CurrentCluster, currentCluster: {clusterRoleName: hello-reader}}]}}]
YAML
addon_of_template() {
  apply <<YAML
apiVersion: addon.open-cluster-management.io/v1beta1
kind: ClusterManagementAddOn
metadata: {name: $addon}
spec:
  defaultConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, name: $addon-v1}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, namespace: $namespace, name: base}
  installStrategy:
    type: Placements
    placements: [{name: everywhere, namespace: $namespace}]
YAML
}
addon_of_template
for n in $(seq "$REAL_CLUSTERS"); do done_on InstallSucceed "cluster$n"; done

say "the objects are on the clusters, and the agents have their kubeconfig of the hub"
for n in $(seq "$REAL_CLUSTERS"); do
  is hello on_cluster "cluster$n" get configmap greeting -n open-cluster-management-agent-addon -o 'jsonpath={.data.greeting}'
  until_is "kubeconfig" has_kubeconfig "cluster$n"
done

say "an edit of the configuration reaches every cluster"
config base ahoy
for n in $(seq "$REAL_CLUSTERS"); do
  until_is ahoy on_cluster "cluster$n" get configmap greeting -n open-cluster-management-agent-addon -o 'jsonpath={.data.greeting}'
done

say "an invalid rollout strategy is rejected with its path"
refused 'minSuccessTime' 'banana' <<YAML
apiVersion: addon.open-cluster-management.io/v1beta1
kind: ClusterManagementAddOn
metadata: {name: $addon}
spec:
  installStrategy:
    type: Placements
    placements:
    - {name: everywhere, namespace: $namespace, rolloutStrategy: {type: Progressive, progressive: {minSuccessTime: banana}}}
YAML
