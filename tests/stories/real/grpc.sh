# A cluster whose agents connect to OCM's gRPC server: that server requests the certificates of the agents of its add-ons.
hub=open-cluster-management-hub
folder=$REAL_WORK/grpc
mkdir -p "$folder"
certificate grpc/server /CN=grpc IP:127.0.0.1
certificate grpc/client /O=system:masters/CN=bootstrap DNS:bootstrap

say "the gRPC server runs with its service account"
for file in serviceaccount clusterrole clusterrolebinding; do
  sed -e '/{{ *\(if\|range\|end\)/d' -e '/"{{ \$key/d' -e 's/{{ *\.ClusterManagerNamespace *}}/open-cluster-management-hub/' \
    -e 's/{{ *\.ClusterManagerName *}}/cluster-manager/' "$OCM_SOURCE/manifests/cluster-manager/hub/grpc-server/$file.yaml" |
    sed '/^ *labels:$/d; /^ *imagePullSecrets:/,$d' | kubectl apply -f - >/dev/null
done
account "$folder/kubeconfig" "$hub" grpc-server-sa
free_port
port=$last_port
cat >"$folder/server.yaml" <<YAML
server_bind_port: "$port"
tls_cert_file: $folder/server.crt
tls_key_file: $folder/server.key
client_ca_file: $REAL_WORK/ca.crt
YAML
cat >"$folder/bootstrap.yaml" <<YAML
url: 127.0.0.1:$port
caFile: $REAL_WORK/ca.crt
clientCertFile: $folder/client.crt
clientKeyFile: $folder/client.key
YAML
free_port
start grpc-server "$OCM_BIN/server" grpc --kubeconfig "$folder/kubeconfig" --server-config "$folder/server.yaml" --namespace "$hub" --listen "127.0.0.1:$last_port"
stop_process ocm-registration
registration_controller --enabled-registration-drivers=csr,grpc --grpc-ca-file "$REAL_WORK/ca.crt" --grpc-key-file "$REAL_WORK/ca.key"

say "a cluster joins through it"
prepare_cluster cluster0
free_port
start cluster0-registration "$OCM_BIN/registration" agent --kubeconfig "$REAL_WORK/cluster0.kubeconfig" --registration-auth grpc \
  --grpc-bootstrap-config "$folder/bootstrap.yaml" --grpc-config "$REAL_WORK/cluster0-hub/config.yaml" --spoke-cluster-name cluster0 --agent-id agent \
  --hub-kubeconfig-dir "$REAL_WORK/cluster0-hub" --hub-kubeconfig-secret hub-kubeconfig-secret --namespace open-cluster-management-agent \
  --disable-leader-election --listen "127.0.0.1:$last_port" --feature-gates=AddonManagement=true,ClusterClaim=true --bootstrap-kubeconfig "$KUBECONFIG"
accept cluster0
# Before Kubernetes 1.30, the role is bound in each namespace.
kubectl create rolebinding tidegate-cluster -n cluster0 --clusterrole tidegate-cluster --serviceaccount tidegate:tidegate-controllers >/dev/null
soon test -s "$REAL_WORK/cluster0-hub/config.yaml"
free_port
start cluster0-work "$OCM_BIN/work" agent --kubeconfig "$REAL_WORK/cluster0.kubeconfig" --workload-source-driver grpc \
  --workload-source-config "$REAL_WORK/cluster0-hub/config.yaml" --spoke-cluster-name cluster0 --agent-id agent --cloudevents-client-id cluster0-work-agent --status-sync-interval 2s \
  --namespace open-cluster-management-agent --disable-leader-election --listen "127.0.0.1:$last_port"
kubectl wait managedcluster/cluster0 --for=condition=ManagedClusterConditionAvailable --timeout=90s >/dev/null

say "the agent of an add-on gets its certificate and its objects"
apply <<YAML
apiVersion: addon.open-cluster-management.io/v1beta1
kind: AddOnTemplate
metadata: {name: $addon-v1}
spec:
  addonName: $addon
  agentSpec:
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: greeting, namespace: default}, data: {greeting: hello}}
  registration: [{type: KubeClient, kubeClient: {}}]
YAML
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1}}
  installStrategy: {type: Manual}
YAML
apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: $addon, namespace: cluster0}
spec: {}
YAML
until_is hello on_cluster cluster0 get configmap greeting -n default -o 'jsonpath={.data.greeting}'
until_is kubeconfig has_kubeconfig cluster0
requests() {
  kubectl get csr -l "open-cluster-management.io/cluster-name=cluster0,open-cluster-management.io/addon-name=$addon" \
    -o 'jsonpath={range .items[*]}{.spec.username}{"\n"}{end}' | sort -u
}
is "system:serviceaccount:$hub:grpc-server-sa" requests
until_is True status cluster0 Available

say "the cluster leaves"
kubectl delete cma "$addon" --timeout=90s >/dev/null
until_is "" clusters_with
kubectl delete managedcluster cluster0 --timeout=90s >/dev/null
for one in cluster0-{registration,work,kubelet,version} grpc-server cluster0-{controllers,apiserver,etcd}; do stop_process "$one"; done
