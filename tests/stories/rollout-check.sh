# A change waits before the second group until a check has passed since the first one was updated; a check that fails undoes it.
# flags: --clusters 3
clusters_in_reach
kubectl label managedcluster cluster1 ring=canary >/dev/null
kubectl label managedcluster cluster2 cluster3 ring=prod >/dev/null
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
config settings hello
template v1.0.0
apply <<YAML
apiVersion: tidegate.io/v1alpha1
kind: RolloutCheck
metadata: {name: errors}
spec: {external: {}}
YAML
rollout_settings <<<"  checks: [errors]
  onFailure: Undo"
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1.0.0}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: settings, namespace: $namespace}}
  installStrategy:
    type: Placements
    placements:
    - {name: rings, namespace: $namespace, rolloutStrategy: {type: ProgressivePerGroup}}
YAML

at() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }
# report RESULT MESSAGE: in a later second than that in which the last cluster was updated, for ten minutes.
report() {
  local now
  sleep 1.1
  now=$(date +%s)
  kubectl patch rolloutcheck errors --subresource=status --type=merge \
    -p "{\"status\": {\"result\": \"$1\", \"message\": \"$2\", \"reportedAt\": \"$(at "$now")\", \"expiresAt\": \"$(at $((now + 600)))\"}}" >/dev/null
}
noted() { value ".status.installProgressions[0].conditions[?(@.type==\"$1\")].status" cma "$addon"; }
says() { value ".status.conditions[?(@.type==\"$1\")].reason" aor "$addon"; }

say "first installations do not wait, and what runs is known to be good once the check has passed"
done_on InstallSucceed cluster1 cluster2 cluster3
report Passed "0.1 % errors"
until_is True noted KnownGood

say "a change reaches the first group, and waits before the next one: the result is from before"
config settings ahoy
until_is ahoy greeting cluster1
until_is WaitingForCheck reason cluster2 Reconciling
is hello greeting cluster2
is "waiting for a RolloutCheck in the rollout of placement $namespace/rings: \"errors\" has no result since the earlier clusters were updated" message cluster2 Configured
tidegate why "$addon" --cluster cluster2 >"$STORY_FOLDER/why" 2>&1 || true
grep -qF 'why/rollout-check' "$STORY_FOLDER/why" || fail "why does not name the check: $(cat "$STORY_FOLDER/why")"

say "it goes on when the check has passed since"
report Passed "0.2 % errors"
until_is ahoy greeting cluster2
until_is ahoy greeting cluster3
done_on UpgradeSucceed cluster1 cluster2 cluster3
report Passed "0.2 % errors"
until_is "" noted ChangeStarted

say "a check that fails after the first cluster of a change was updated undoes the change"
config settings bonjour
until_is bonjour greeting cluster1
until_is WaitingForCheck reason cluster2 Reconciling
report Failed "7 % errors"
until_is RolledBack says Stalled
until_is ahoy greeting cluster1
is ahoy greeting cluster2
value ".status.conditions[?(@.type==\"Stalled\")].message" aor "$addon" >"$STORY_FOLDER/said"
grep -qF 'the RolloutCheck "errors" failed (7 % errors)' "$STORY_FOLDER/said" || fail "another cause: $(cat "$STORY_FOLDER/said")"

say "the API server refuses a status that is no result"
denied() { if kubectl patch rolloutcheck errors --subresource=status --type=merge -p "$1" 2>"$STORY_FOLDER/said"; then fail "it was accepted: $1"; fi; grep -qF -- "$2" "$STORY_FOLDER/said" || fail "$(cat "$STORY_FOLDER/said")"; }
denied '{"status": {"result": "Good"}}' 'status.result: Unsupported value: "Good"'
denied '{"status": {"expiresAt": "2999-01-01T00:00:00Z"}}' 'at most 30 days later'
denied '{"status": {"reportedAt": null}}' 'status.reportedAt: Required value'

say "the webhook refuses an expression that does not compile, and warns of a check that does not exist"
refused 'no query has the name "error"; did you mean "errors"?' "check/expression" <<YAML
apiVersion: tidegate.io/v1alpha1
kind: RolloutCheck
metadata: {name: metrics}
spec: {prometheus: {endpoint: main, queries: [{name: errors, query: up}], expression: error < 1.0}}
YAML
kubectl patch addonrollout "$addon" --type=merge -p '{"spec":{"checks":["error"]}}' >"$STORY_FOLDER/said" 2>&1
grep -qF 'did you mean "errors"?' "$STORY_FOLDER/said" || fail "there is no warning: $(cat "$STORY_FOLDER/said")"
kubectl patch addonrollout "$addon" --type=merge -p '{"spec":{"checks":["errors"]}}' >/dev/null
kubectl delete rolloutcheck errors >"$STORY_FOLDER/said" 2>&1
grep -qF "changes of these are held while it does not exist: \"$addon\"" "$STORY_FOLDER/said" || fail "there is no warning: $(cat "$STORY_FOLDER/said")"
