# Roles say who may approve: an approver without any right on add-ons decides about one group, and an editor of add-ons cannot decide.
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
  apply_addon <<YAML
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
helloworld
prod=$addon.$namespace.rings.prod
late=$addon.$namespace.rings.late
apply <<YAML
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: story-approver}
rules:
- {apiGroups: [tidegate.io], resources: [rolloutapprovals], verbs: [list, watch]}
- {apiGroups: [tidegate.io], resources: [rolloutapprovals], resourceNames: [$prod], verbs: [get, patch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: story-editor}
rules:
- {apiGroups: [addon.open-cluster-management.io], resources: ["*"], verbs: ["*"]}
- {apiGroups: [tidegate.io], resources: [rolloutapprovals], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: story-approver}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: story-approver}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: story-approver}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: story-editor}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: story-editor}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: story-editor}]
YAML
as_approver() { kubectl --as=story-approver "$@"; }
as_editor() { kubectl --as=story-editor "$@"; }
# denied TEXT COMMAND…: the command fails, and its output contains the text.
denied() {
  local text=$1 said
  shift
  if said=$("$@" 2>&1); then fail "this was accepted: $said"; fi
  grep -qF -- "$text" <<<"$said" || fail "the refusal does not say \"$text\": $said"
}
decision() { printf '{"spec":{"decision":{"result":"%s","content":"%s"%s}}}' "$1" "$2" "${3:-}"; }
of_approval() { value "$1" rolloutapproval "$prod"; }

done_on InstallSucceed cluster1 cluster2 cluster3
rollout_settings <<<"  approvalBefore: [prod, late]"
config settings ahoy
until_is ahoy greeting cluster1
until_is Waiting of_approval .status.state
content=$(of_approval .status.content)

say "the editor of add-ons decides by no object, no field and no version"
denied "is forbidden" as_editor patch roa "$prod" --type=merge -p "$(decision Approved "$content")"
denied "is forbidden" as_editor create -f - <<YAML
apiVersion: tidegate.io/v1alpha1
kind: RolloutApproval
metadata: {name: a-name-of-my-own}
spec: {addon: $addon, placement: $namespace/rings, group: prod, decision: {result: Approved, content: $content}}
YAML
denied "is forbidden" as_editor patch addonrollout "$addon" --type=merge -p '{"spec":{"approvalBefore":null}}'
for version in v1alpha1 v1beta1; do
  denied "spec.decision of a RolloutApproval" as_editor annotate "clustermanagementaddons.$version.addon.open-cluster-management.io" "$addon" \
    "tidegate.io/approved=$namespace/rings/prod=$content"
done
is hello greeting cluster2

say "the approver has no right on add-ons, and decides about this group only and in no other name"
denied "is forbidden" as_approver patch cma "$addon" --type=merge -p '{"metadata":{"labels":{"a":"b"}}}'
denied "is forbidden" as_approver patch roa "$late" --type=merge -p "$(decision Approved "$content")"
denied "the user of the request, or absent" as_approver patch roa "$prod" --type=merge -p "$(decision Approved "$content" ',"by":"another"')"
as_approver patch roa "$prod" --type=merge -p "$(decision Rejected "$content" ',"reason":"not on a Friday"')" >/dev/null
until_is ApprovalRejected reason cluster2 Stalled
tidegate rollout status "$addon" | head -3 || true

say "GitOps that applies the add-on again loses no decision"
as_approver patch roa "$prod" --type=merge -p "$(decision Approved "$content")" >/dev/null
helloworld
until_is ahoy greeting cluster2
is story-approver of_approval .spec.decision.by
is hello greeting cluster3
