# Clusters are upgraded, a canary first, with a backup before, their operators after, and a test at the end.
# flags: --clusters 4 --openshift 4.11.9 --upgrade-time 2s
bound_set
upgrade mcu <<YAML
  clusterSelector: {clusterSets: [default]}
  clusterVersion: {channel: stable-4.12, version: 4.12.0}
  ocpOperators: {include: [{name: openshift-gitops-operator, namespace: openshift-operators}]}
  upgradeStrategy:
    canaryClusters: {clusterSelector: {matchExpressions: [{key: name, operator: In, values: [cluster2]}]}}
    clusterUpgradeTimeout: 2h
    operatorsUpgradeTimeout: 10m
    maxConcurrency: 2
  preUpgradeAction: $(a_job backup)
  postUpgradeAction: $(a_job smoke-test)
YAML
say "the backup of the canary is made before its version is set"
until_is cluster2/cluster2-cluster-upgrade\ cluster2/mcu-pre-upgrade mcu_works
say "all others follow, and no works are left"
kubectl wait mcu/mcu --for=condition=Complete --timeout=60s >/dev/null
is 4 mcu_count mcu complete
until_is "" mcu_works
for cluster in cluster1 cluster2 cluster3 cluster4; do until_is 4.12.0 runs "$cluster"; done
kubectl wait mcu/mcu --for=condition=Ready --timeout=10s >/dev/null
is "4 4" kubectl get mcu mcu -o 'jsonpath={.status.preUpgradeActionSummary.available} {.status.postUpgradeActionSummary.available}'
