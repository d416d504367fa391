# A change is rolled out in order: the mandatory group first, then one cluster at a time, each after its soak time.
clusters_in_reach
kubectl label managedcluster cluster2 ring=canary >/dev/null
apply <<YAML
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: rings, namespace: $namespace}
spec:
  clusterSets: [global]
  decisionStrategy:
    groupStrategy:
      decisionGroups: [{groupName: canary, groupClusterSelector: {labelSelector: {matchLabels: {ring: canary}}}}]
YAML
template v1
config settings hello
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: settings, namespace: $namespace}}
  installStrategy:
    type: Placements
    placements:
    - name: rings
      namespace: $namespace
      rolloutStrategy:
        type: Progressive
        progressive: {mandatoryDecisionGroups: [{groupName: canary}], maxConcurrency: 1, minSuccessTime: 5s}
YAML
for n in $(seq "$REAL_CLUSTERS"); do done_on InstallSucceed "cluster$n"; done

say "the canary first"
config settings ahoy
until_is ahoy greeting cluster2
is hello greeting cluster1
is hello greeting cluster3

say "then one cluster at a time: never two that are being updated"
begun=$SECONDS
while [ "$(greeting "cluster$REAL_CLUSTERS")" != ahoy ]; do
  running=$(kubectl get mca -A -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Progressing")].reason}{"\n"}{end}' | grep -c '^Upgrading$' || true)
  [ "$running" -le 1 ] || fail "$running clusters are updated at once"
  [ $((SECONDS - begun)) -lt 120 ] || fail "the rollout is not over after two minutes"
done
for n in $(seq "$REAL_CLUSTERS"); do done_on UpgradeSucceed "cluster$n"; done
until_is "selected clusters $REAL_CLUSTERS. configured addons $REAL_CLUSTERS/$REAL_CLUSTERS completed with no errors, 0 failed 0 timeout." progression
