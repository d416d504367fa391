# A broken version stops at the canary cluster, all others keep the version that works, and a corrected version passes the canary.
clusters_in_reach
kubectl label managedcluster cluster3 ring=canary >/dev/null
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
# version NAME IMAGE: a template whose agent starts unless its image is "broken".
version() {
  apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: $addon-$1}
spec:
  addonName: $addon
  agentSpec:
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: greeting, namespace: default}, data: {version: "$1"}}
      - apiVersion: apps/v1
        kind: Deployment
        metadata: {name: agent, namespace: default}
        spec:
          strategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: 0}}
          selector: {matchLabels: {app: agent}}
          template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: agent, image: "$2"}]}}
YAML
}
helloworld() {
  apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-$1}}
  installStrategy:
    type: Placements
    placements:
    - name: rings
      namespace: $namespace
      rolloutStrategy: {type: Progressive, progressive: {mandatoryDecisionGroups: [{groupName: canary}], minSuccessTime: 5s, progressDeadline: 20s}}
YAML
}
version v1 busybox:1
version v2 broken:2
version v3 busybox:3
helloworld v1
for n in $(seq "$REAL_CLUSTERS"); do done_on InstallSucceed "cluster$n"; done
on_each() { on_cluster "$1" get configmap greeting -n default -o 'jsonpath={.data.version}'; }

say "the agent of the next version does not start on the canary"
helloworld v2
until_is v2 on_each cluster3
until_is False status cluster3 Ready
stalled() { value '.status.conditions[?(@.type=="Stalled")].status' addonrollout "$addon"; }
# A cluster whose agent does not start fails after --startup-time, two minutes.
patience=180
until_is True stalled
for n in $(seq "$REAL_CLUSTERS"); do [ "$n" = 3 ] || is v1 on_each "cluster$n"; done

say "a corrected version passes the canary and reaches all clusters"
helloworld v3
for n in 3 $(seq "$REAL_CLUSTERS"); do until_is v3 on_each "cluster$n"; done
for n in $(seq "$REAL_CLUSTERS"); do until_is True status "cluster$n" Ready; done
until_is "selected clusters $REAL_CLUSTERS. configured addons $REAL_CLUSTERS/$REAL_CLUSTERS completed with no errors, 0 failed 0 timeout." progression
