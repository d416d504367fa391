# Only operators are upgraded; the version of the clusters stays.
# flags: --clusters 2 --openshift 4.12.3 --upgrade-time 2s
bound_set
upgrade operators <<'YAML'
  clusterSelector: {}
  ocpOperators: {approveAllUpgrades: true, exclude: [{name: kept, namespace: openshift-operators}]}
YAML
kubectl wait mcu/operators --for=condition=Complete --timeout=60s >/dev/null
is 2 mcu_count operators complete
is 4.12.3 runs cluster1
say "an upgrade without a version or operators is denied"
refused 'spec.clusterVersion' 'upgrade/nothing' <<'YAML'
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: ManagedClustersUpgrade
metadata: {name: nothing, namespace: default}
spec: {clusterSelector: {}, ocpOperators: {approveAllUpgrades: false}}
YAML
