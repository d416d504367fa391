# A change stops before production until a user approves it; the approval is for this content only.
# flags: --clusters 3
clusters_in_reach
kubectl label managedcluster cluster1 ring=canary >/dev/null
kubectl label managedcluster cluster2 ring=prod >/dev/null
kubectl label managedcluster cluster3 ring=late >/dev/null
apply <<YAML
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: rings, namespace: $namespace}
spec:
  clusterSets: [global]
  decisionStrategy:
    groupStrategy:
      decisionGroups:
      - {groupName: canary, groupClusterSelector: {labelSelector: {matchLabels: {ring: canary}}}}
      - {groupName: prod, groupClusterSelector: {labelSelector: {matchLabels: {ring: prod}}}}
      - {groupName: late, groupClusterSelector: {labelSelector: {matchLabels: {ring: late}}}}
YAML
config settings hello
template v1.0.0
helloworld() {
  apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: $addon}
spec:
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1.0.0}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: settings, namespace: $namespace}}
  installStrategy:
    type: Placements
    placements:
    - name: rings
      namespace: $namespace
      rolloutStrategy: {type: ProgressivePerGroup}
YAML
}
# The annotation's entry that the condition of a waiting cluster contains.
entry() { message "$1" Configured | sed -n 's/.* to approve, add the entry \([^ ]*\) to the annotation .*/\1/p'; }
addon_reason() { value '.status.conditions[?(@.type=="Ready")].reason' addonrollout "$addon"; }
approve() { kubectl annotate cma "$addon" --overwrite "tidegate.io/approved=$1" >/dev/null; }

helloworld
done_on InstallSucceed cluster1 cluster2 cluster3

say "a change reaches the first group, and waits before the one that needs an approval; the next group waits for that"
rollout_settings <<<"  placements: [{namespace: $namespace, name: rings, approvalBefore: [prod]}]"
config settings ahoy
until_is ahoy greeting cluster1
until_is WaitingForApproval reason cluster2 Reconciling
until_is WaitingForGroup reason cluster3 Reconciling
is hello greeting cluster2
until_is WaitingForApproval addon_reason

say "content that is edited in the meantime is new content: the earlier approval has no effect"
seen=$(entry cluster2)
config settings bonjour
until_is bonjour greeting cluster1
until_is WaitingForApproval reason cluster2 Reconciling
approve "$seen"
sleep 2
is hello greeting cluster2
is WaitingForApproval reason cluster2 Reconciling

say "an approval of the waiting content starts it, and then all later groups"
approve "$(entry cluster2)"
until_is bonjour greeting cluster2
until_is bonjour greeting cluster3
done_on UpgradeSucceed cluster1 cluster2 cluster3

say "the next change waits again"
config settings salut
until_is salut greeting cluster1
until_is WaitingForApproval reason cluster2 Reconciling
is bonjour greeting cluster2
approve "$(entry cluster2)"
done_on UpgradeSucceed cluster1 cluster2 cluster3
is salut greeting cluster3

say "an invalid value is denied"
refused "must be the name or the index of a decision group" <<YAML
apiVersion: tidegate.io/v1alpha1
kind: AddOnRollout
metadata: {name: $addon}
spec: {approvalBefore: ["not a name"]}
YAML
