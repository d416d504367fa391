# During a pause a cluster that has started finishes; a cluster that is selected in the meantime is upgraded as well; another upgrade is queued.
# flags: --clusters 3 --openshift 4.11.9 --upgrade-time 3s
apply <<'YAML'
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: default, namespace: default}
spec: {clusterSet: default}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: wave, namespace: default}
spec: {predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {wave: one}}}}]}
YAML
kubectl label managedcluster cluster1 cluster2 wave=one >/dev/null
upgrade mcu <<'YAML'
  placement: [{name: wave, namespace: default}]
  clusterVersion: {channel: stable-4.12, version: 4.12.0}
  upgradeStrategy: {maxConcurrency: 1}
YAML
until_is cluster1/cluster1-cluster-upgrade mcu_works
say "a cluster that has started finishes"
kubectl patch mcu mcu --type merge -p '{"spec": {"suspend": true}}' >/dev/null
until_is "Complete " mcu_cluster mcu cluster1
is Paused mcu_phase mcu
is 4.11.9 runs cluster2
say "a third one joins, and the upgrade continues"
kubectl label managedcluster cluster3 wave=one >/dev/null
until_is 3 mcu_count mcu total
kubectl patch mcu mcu --type merge -p '{"spec": {"suspend": false}}' >/dev/null
until_is cluster2/cluster2-cluster-upgrade mcu_works
say "another upgrade waits for the cluster, and upgrades it afterwards"
upgrade other <<'YAML'
  clusterSelector: {matchLabels: {name: cluster2}}
  clusterVersion: {channel: stable-4.12, version: 4.12.1}
YAML
until_is "NotStarted Conflict" mcu_cluster other cluster2
until_is Complete mcu_phase mcu
until_is Complete mcu_phase other
until_is 4.12.1 runs cluster2
is 4.12.0 runs cluster3
