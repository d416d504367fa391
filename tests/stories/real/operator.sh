# OCM's operator takes over the hub: its CRDs, accounts and webhooks. Tidegate's works pass OCM's webhooks, and its manager stays off.
hub=open-cluster-management-hub
config=$OCM_SOURCE/deploy/cluster-manager/config
folder_of() { printf '%s/%s' "$STORY_FOLDER" "$1"; }
# OCM's webhooks listen on all addresses: each needs a port of its own.
cluster_manager() {
  kubectl apply -f - >/dev/null <<YAML
apiVersion: operator.open-cluster-management.io/v1
kind: ClusterManager
metadata: {name: cluster-manager}
spec:
  addOnManagerConfiguration: {featureGates: [{feature: AddonManagement, mode: $1}]}
  workConfiguration: {featureGates: [{feature: NilExecutorValidating, mode: Enable}]}
  deployOption:
    mode: Default
    default:
      registrationWebhookConfiguration: {bindConfiguration: {port: 9444}}
      workWebhookConfiguration: {bindConfiguration: {port: 9445}}
YAML
}
manager() { kubectl get deployments,serviceaccounts -n "$hub" -o name | grep -E '/(cluster-manager-)?addon-manager' || true; }
webhook() { # NAME PORT [FLAG…]: a container of a Deployment of the operator
  local name=$1 port=$2 folder key
  shift 2
  folder=$(folder_of "$name")
  mkdir -p "$folder"
  for key in tls.crt tls.key; do
    soon kubectl get secret "$name-webhook-serving-cert" -n "$hub"
    kubectl get secret "$name-webhook-serving-cert" -n "$hub" -o "go-template={{index .data \"$key\" | base64decode}}" >"$folder/$key"
  done
  account "$folder/kubeconfig" "$hub" "$name-webhook-sa"
  KUBECONFIG='' start "operator-$name-webhook" "$OCM_BIN/$name" webhook-server --port "$port" --certdir "$folder" --metrics-port 0 \
    --health-probe-port 0 --kubeconfig "$folder/kubeconfig" "$@"
}

say "the operator installs OCM"
kubectl apply --server-side -f "$config"/crds/*clustermanagers.crd.yaml >/dev/null
for file in operator/namespace operator/service_account rbac/cluster_role rbac/cluster_role_binding; do
  kubectl apply -f "$config/$file.yaml" >/dev/null
done
soon kubectl get clustermanagers
cluster_manager Enable
account "$(folder_of operator)" open-cluster-management cluster-manager
free_port
POD_NAME=operator start operator "$OCM_BIN/registration-operator" hub --kubeconfig "$(folder_of operator)" \
  --namespace open-cluster-management --disable-leader-election --listen "127.0.0.1:$last_port"
start hub-kubelet kubelet "$KUBECONFIG"
until_is True kubectl get clustermanager cluster-manager -o 'jsonpath={.status.conditions[?(@.type=="Applied")].status}'
webhook addon 9443
webhook registration 9444
webhook work 9445 --feature-gates=NilExecutorValidating=true
until_is False kubectl get clustermanager cluster-manager -o 'jsonpath={.status.conditions[?(@.type=="Progressing")].status}'
soon kubectl get validatingwebhookconfigurations managedclustervalidators.admission.cluster.open-cluster-management.io

say "it reverts a scale of its add-on manager to 0, and removes the manager when the feature is disabled"
replicas() { kubectl get deployment cluster-manager-addon-manager-controller -n "$hub" -o 'jsonpath={.spec.replicas}'; }
scale=$(replicas)
kubectl scale deployment cluster-manager-addon-manager-controller -n "$hub" --replicas=0 >/dev/null
until_is "$scale" replicas
kubectl create rolebinding view-for-agents -n cluster1 --clusterrole view --serviceaccount "$hub:addon-manager-controller-sa" >/dev/null
tidegate adopt --list-bindings >"$(folder_of bindings)"
kubectl apply -f "$(folder_of bindings)" >/dev/null
is "ServiceAccount tidegate/tidegate-controllers" kubectl get rolebinding view-for-agents-tidegate -n cluster1 \
  -o 'jsonpath={range .subjects[*]}{.kind} {.namespace}/{.name}{end}'
cluster_manager Disable
until_is "" manager

say "it would revert Tidegate's fields"
if tidegate definitions apply >"$(folder_of said)" 2>&1; then fail "the operator would revert this"; fi
cat "$(folder_of said)"
grep -qF "operator" "$(folder_of said)" || fail "the operator is not named"

say "OCM's webhooks answer"
refused "manifests should not be empty" <<YAML
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: empty, namespace: cluster1}
spec: {workload: {manifests: []}}
YAML

say "Tidegate starts again on this hub, and installs, edits and removes an add-on"
for replica in 1 2; do stop_process "controllers-$replica"; done
for replica in 1 2; do tidegate_process "controllers-$replica" tidegate-controllers; done
clusters_in_reach
placement everywhere
template v1
config settings hello
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: settings, namespace: $namespace}}
  installStrategy: {type: Placements, placements: [{name: everywhere, namespace: $namespace}]}
YAML
greeting_on() { on_cluster "$1" get configmap greeting -n default -o 'jsonpath={.data.greeting}'; }
for n in $(seq "$REAL_CLUSTERS"); do until_is hello greeting_on "cluster$n"; done
config settings ahoy
for n in $(seq "$REAL_CLUSTERS"); do until_is ahoy greeting_on "cluster$n"; done
label() { kubectl get managedcluster "$1" -o "jsonpath={.metadata.labels.feature\.open-cluster-management\.io/addon-$addon}"; }
for n in $(seq "$REAL_CLUSTERS"); do until_is available label "cluster$n"; done
kubectl delete cma "$addon" --timeout=90s >/dev/null
until_is "" clusters_with

say "the hub is as before"
kubectl delete -f "$(folder_of bindings)" >/dev/null
kubectl delete rolebinding view-for-agents -n cluster1 >/dev/null
for one in operator hub-kubelet operator-{addon,registration,work}-webhook; do stop_process "$one"; done
kubectl delete validatingwebhookconfigurations,mutatingwebhookconfigurations --all --dry-run=client -o name | grep -v /tidegate- | xargs -r kubectl delete >/dev/null
kubectl patch clustermanager cluster-manager --type merge -p '{"metadata":{"finalizers":null}}' >/dev/null
kubectl delete crd clustermanagers.operator.open-cluster-management.io >/dev/null
convert_by_url
