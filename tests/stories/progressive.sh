# A change is rolled out in waves: mandatory groups first, then the rest a few at a time, with soak times. It stops after too many failures.
# flags: --clusters 8 --fault cluster5=apply-failure,from=2:quota-exceeded --fault cluster6=apply-failure,from=2:quota-exceeded
clusters_in_reach
kubectl label managedcluster cluster1 ring=west >/dev/null
kubectl label managedcluster cluster2 ring=east >/dev/null
apply <<YAML
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: placement-aws, namespace: $namespace}
spec:
  clusterSets: [global]
  decisionStrategy:
    groupStrategy:
      decisionGroups:
      - {groupName: prod-canary-west, groupClusterSelector: {labelSelector: {matchLabels: {ring: west}}}}
      - {groupName: prod-canary-east, groupClusterSelector: {labelSelector: {matchLabels: {ring: east}}}}
YAML
template v1
config deploy-config hello
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs}
  installStrategy:
    type: Placements
    placements:
    - name: placement-aws
      namespace: $namespace
      configs:
      - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, name: deploy-config, namespace: $namespace}
      rolloutStrategy:
        type: Progressive
        progressive:
          mandatoryDecisionGroups: [{groupName: prod-canary-west}, {groupName: prod-canary-east}]
          maxConcurrency: 50%
          minSuccessTime: 10s
          progressDeadline: 10m
          maxFailures: 1
YAML
all="cluster1 cluster2 cluster3 cluster4 cluster5 cluster6 cluster7 cluster8"
# shellcheck disable=SC2086 # one word a cluster
done_on InstallSucceed $all
until_is "selected clusters 8. configured addons 8/8 completed with no errors, 0 failed 0 timeout." progression

say "the change reaches the west canary, soaks, and only then reaches the east"
config deploy-config ahoy
until_is ahoy greeting cluster1
is hello greeting cluster2
is hello greeting cluster3
until_is ahoy greeting cluster2
is UpgradeSucceed reason cluster1
is hello greeting cluster3

say "then three at a time; two of them fail, one is tolerated: no further cluster is updated"
until_is UpgradeFailed reason cluster5
until_is ahoy greeting cluster3
until_is ahoy greeting cluster4
until_is UpgradeFailed reason cluster6
sleep 5
is hello greeting cluster7
is hello greeting cluster8
is "quota-exceeded" grep -o quota-exceeded <<<"$(message cluster5)"
is False status cluster5 Ready
