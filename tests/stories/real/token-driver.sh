# The agents of the last cluster register with a token of a service account in place of a certificate.
clusters_in_reach
placement everywhere
apply <<YAML
apiVersion: addon.open-cluster-management.io/v1beta1
kind: AddOnTemplate
metadata: {name: $addon}
spec:
  addonName: $addon
  agentSpec: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: greeting, namespace: default}}]}}
  registration: [{type: KubeClient}]
YAML
apply <<YAML
apiVersion: addon.open-cluster-management.io/v1beta1
kind: ClusterManagementAddOn
metadata: {name: $addon}
spec:
  defaultConfigs: [{group: addon.open-cluster-management.io, resource: addontemplates, name: $addon}]
  installStrategy: {type: Placements, placements: [{name: everywhere, namespace: $namespace}]}
YAML
for n in $(seq "$REAL_CLUSTERS"); do done_on InstallSucceed "cluster$n"; done
secret() { on_cluster "$1" get secret "$addon-hub-kubeconfig" -n open-cluster-management-agent-addon -o "go-template={{range \$key, \$_ := .data}}{{\$key}} {{end}}"; }
last=cluster$REAL_CLUSTERS
until_is yes eval "secret $last | grep -qw token && echo yes"
until_is yes eval 'secret cluster1 | grep -q tls.crt && echo yes'

say "the token works on the hub, as the service account of the agent"
token=$(on_cluster "$last" get secret "$addon-hub-kubeconfig" -n open-cluster-management-agent-addon -o 'jsonpath={.data.token}' | base64 -d)
is "system:serviceaccount:$last:$addon-agent" kubectl --token "$token" auth whoami -o 'jsonpath={.status.userInfo.username}'
