# The controllers query a real Prometheus server: canary, soak, a check that fails at the second group, automatic undo, fix, approval, end.
# flags: --clusters 3 --check-endpoint main=http://127.0.0.1:{port}
patience=120
clusters_in_reach
kubectl label managedcluster cluster1 ring=canary >/dev/null
kubectl label managedcluster cluster2 cluster3 ring=prod >/dev/null

prometheus_with_errors

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
YAML
check_of_errors
config settings hello
template v1.0.0
result() { value .status.result rolloutcheck errors; }
noted() { value ".status.installProgressions[0].conditions[?(@.type==\"$1\")].status" cma "$addon"; }
says() { value ".status.conditions[?(@.type==\"$1\")].reason" cma "$addon"; }

say "a check that no settings name is not evaluated"
is "" result
rollout_settings <<<"  checks: [errors]
  approvalBefore: [prod]
  onFailure: Undo"
until_is Passed result

say "first installations wait for the approval, and for no check"
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1.0.0}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: settings, namespace: $namespace}}
  installStrategy:
    type: Placements
    placements:
    - name: rings
      namespace: $namespace
      rolloutStrategy: {type: ProgressivePerGroup, progressivePerGroup: {minSuccessTime: 20s}}
YAML
approve() {
  until_is WaitingForApproval reason cluster2 Reconciling
  until_is Waiting value .status.state roa "$addon.$namespace.rings.prod"
  tidegate rollout approve "$addon" --group prod >/dev/null
}
until_is True status cluster1 Ready
tidegate rollout promote "$addon" >/dev/null
approve
done_on InstallSucceed cluster2 cluster3
until_is True noted KnownGood

say "the canary soaks, then the second group is approved; the check fails while that group soaks, and the rollout is undone"
config settings ahoy
until_is ahoy greeting cluster1
approve
until_is ahoy greeting cluster2
metric 5
until_is Failed result
is 5 value .status.values.errors rolloutcheck errors
until_is RolledBack says Stalled
for cluster in cluster1 cluster2 cluster3; do until_is hello greeting "$cluster"; done
value ".status.conditions[?(@.type==\"Stalled\")].message" cma "$addon" >"$STORY_FOLDER/said"
grep -qF 'the RolloutCheck "errors" failed (the expression is false: errors < 1.0)' "$STORY_FOLDER/said" || fail "another cause: $(cat "$STORY_FOLDER/said")"

say "the errors end with the undo; a fix is rolled out, approved and completed"
metric 0
until_is Passed result
config settings salut
until_is salut greeting cluster1
approve
for cluster in cluster2 cluster3; do until_is salut greeting "$cluster"; done
until_is True noted KnownGood
until_is "" noted ChangeStarted
until_is Ready says Ready

say "without the server the result is unknown, and holds the next change"
kill "$server"
wait "$server" || true
until_is Unknown result
config settings bye
until_is bye greeting cluster1
approve
until_is WaitingForCheck reason cluster2 Reconciling
