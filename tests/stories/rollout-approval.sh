# A change stops before production until a user approves it in a RolloutApproval; the decision is for this content only.
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
approval=$addon.$namespace.rings.prod
of_approval() { value "$1" rolloutapproval "$approval"; }
# The content that the RolloutApproval shows, as soon as it is another one than CONTENT.
other_content() {
  until_is yes is_other "$1"
  of_approval .status.content
}
is_other() {
  local now
  now=$(awaited='' of_approval .status.content)
  if [ -n "$now" ] && [ "$now" != "$1" ]; then echo yes; fi
}
# decide RESULT CONTENT REASON
decide() {
  kubectl patch roa "$approval" --type=merge -p "{\"spec\":{\"decision\":{\"result\":\"$1\",\"content\":\"$2\",\"reason\":\"$3\"}}}"
}
approve() { decide Approved "$1" "" >/dev/null; }
# denied TEXT COMMAND…: the command fails, and its output contains the text.
denied() {
  local text=$1 said
  shift
  if said=$("$@" 2>&1); then fail "this was accepted: $said"; fi
  grep -qF -- "$text" <<<"$said" || fail "the refusal does not say \"$text\": $said"
}
addon_reason() { value '.status.conditions[?(@.type=="Ready")].reason' addonrollout "$addon"; }

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

say "the RolloutApproval shows what waits"
until_is Waiting of_approval .status.state
is 1 of_approval .status.clusters
seen=$(of_approval .status.content)
is "waiting for approval of decision group prod of placement $namespace/rings in the RolloutApproval $approval (content $seen)" message cluster2 Configured

say "content that is edited in the meantime is new content: a decision about the earlier content is denied"
config settings bonjour
content=$(other_content "$seen")
until_is bonjour greeting cluster1
until_is WaitingForApproval reason cluster2 Reconciling
until_is Waiting of_approval .status.state
denied "is not the content that waits" decide Approved "$seen" ""
is hello greeting cluster2

say "a rejection holds the group, with the author and the reason"
decide Rejected "$content" "errors in canary" >/dev/null
until_is ApprovalRejected reason cluster2 Stalled
until_is Rejected of_approval .status.state
by=$(of_approval .spec.decision.by)
[ -n "$by" ] || fail "the decision has no author"
is "$by has rejected the change for decision group prod of placement $namespace/rings (errors in canary)" message cluster2 Configured
is hello greeting cluster2

say "the author cannot be another user, and a RolloutApproval stays about the same group"
denied "the user of the request, or absent" kubectl patch roa "$approval" --type=merge \
  -p "{\"spec\":{\"decision\":{\"result\":\"Approved\",\"by\":\"another\"}}}"
denied "cannot be changed without a new decision" kubectl patch roa "$approval" --type=merge \
  -p "{\"spec\":{\"decision\":{\"by\":\"another\"}}}"
denied "cannot be changed" kubectl patch roa "$approval" --type=merge -p "{\"spec\":{\"group\":\"late\"}}"

say "an approval of the waiting content starts it, and then all later groups"
approve "$content"
until_is bonjour greeting cluster2
until_is bonjour greeting cluster3
done_on UpgradeSucceed cluster1 cluster2 cluster3

say "the next change waits again"
config settings salut
other_content "$content" >/dev/null
until_is salut greeting cluster1
until_is WaitingForApproval reason cluster2 Reconciling
is bonjour greeting cluster2
until_is Waiting of_approval .status.state
tidegate rollout approve "$addon" --group prod --reason CHG-1234 >/dev/null
until_is salut greeting cluster3
done_on UpgradeSucceed cluster1 cluster2 cluster3
is CHG-1234 of_approval .spec.decision.reason

say "a change back to content that was approved needs no new approval"
config settings bonjour
until_is bonjour greeting cluster2
until_is bonjour greeting cluster3
is "$content" of_approval .status.content
is Approved of_approval .status.state

say "the annotation of earlier versions is denied"
denied "spec.decision of a RolloutApproval" kubectl annotate cma "$addon" "tidegate.io/approved=$namespace/rings/prod=$content"

say "the RolloutApproval is deleted when no group needs an approval any more"
rollout_settings <<<"  approvalBefore: []
  placements: []"
until_is "" kubectl get roa "$approval" --ignore-not-found -o name

say "an invalid value is denied"
refused "must be the name or the index of a decision group" <<YAML
apiVersion: tidegate.io/v1alpha1
kind: AddOnRollout
metadata: {name: $addon}
spec: {approvalBefore: ["not a name"]}
YAML
