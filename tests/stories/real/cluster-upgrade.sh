# The clusters are upgraded, a canary first with its pre-upgrade action, and their claims report the new version.
bound_set
upgrade mcu <<YAML
  clusterSelector: {clusterSets: [default]}
  clusterVersion: {channel: stable-4.12, version: 4.12.0}
  upgradeStrategy:
    canaryClusters: {clusterSelector: {matchExpressions: [{key: name, operator: In, values: [cluster2]}]}}
    maxConcurrency: 1
  preUpgradeAction: $(a_job backup)
YAML
present() { on_cluster "$1" get clusterversion version -o 'jsonpath={.status.desired.version}'; }
until_is 4.12.0 present cluster2
say "the others follow"
kubectl wait mcu/mcu --for=condition=Complete --timeout=240s >/dev/null || fail "not complete: $(kubectl get mcu mcu -o yaml)"
for n in $(seq "$REAL_CLUSTERS"); do is 4.12.0 present "cluster$n"; done
until_is "" mcu_works
say "the upgrade is deleted; the clusters keep their version"
kubectl delete mcu mcu --timeout=60s >/dev/null
is 4.12.0 present cluster1
for n in $(seq "$REAL_CLUSTERS"); do set_version "$REAL_WORK/cluster$n.kubeconfig" 4.11.9 >/dev/null; on_cluster "cluster$n" patch clusterversion version --type merge -p '{"spec":{"desiredUpdate":null}}' >/dev/null; done
