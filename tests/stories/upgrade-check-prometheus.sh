# An upgrade in three stages that waits for a real Prometheus server: canary, soak, a check that fails in the second stage, fix, approval, end.
# flags: --clusters 5 --openshift 4.11.9 --upgrade-time 2s --check-endpoint main=http://127.0.0.1:{port}
patience=120
bound_set
kubectl label managedcluster cluster2 cluster3 env=test >/dev/null
kubectl label managedcluster cluster4 env=eu >/dev/null
kubectl label managedcluster cluster5 env=us >/dev/null
prometheus_with_errors
check_of_errors
kubectl apply -f - >/dev/null <<'YAML'
apiVersion: tidegate.io/v1alpha1
kind: RolloutProfile
metadata: {name: checked}
spec: {checks: [errors]}
YAML
upgrade mcu <<'YAML'
  clusterSelector: {}
  clusterVersion: {channel: stable-4.12, version: 4.12.0}
  upgradeStrategy:
    profile: checked
    maxFailures: 0
    canaryClusters: {clusterSelector: {matchLabels: {name: cluster1}}}
    stages:
    - {name: test, clusterSelector: {matchLabels: {env: test}}, maxConcurrency: 1, minSuccessTime: 5s}
    - {name: eu, clusterSelector: {matchLabels: {env: eu}}}
    - {name: us, clusterSelector: {matchLabels: {env: us}}, approval: true}
YAML
result() { value .status.result rolloutcheck errors; }
stage() { value ".status.stages[$1].phase" mcu/mcu; }
ready() { value '.status.conditions[?(@.type=="Ready")].message' mcu/mcu; }

say "the canary cluster is upgraded, and the stage test waits for a result after that"
until_is 4.12.0 runs cluster1
until_is WaitingForCheck stage 0
tidegate why mcu/mcu >"$STORY_FOLDER/said" 2>&1 || true
grep -qF 'stage "test" is waiting for a RolloutCheck: "errors"' "$STORY_FOLDER/said" || fail "$(cat "$STORY_FOLDER/said")"

say "the check passes, and the first cluster of the stage starts; then the check fails, and the upgrade is halted"
until_is 4.12.0 runs cluster2
metric 5
until_is Failed result
until_is Halted mcu_phase mcu
is 4.11.9 runs cluster4
ready >"$STORY_FOLDER/said"
grep -qF 'the RolloutCheck "errors" failed (the expression is false: errors < 1.0)' "$STORY_FOLDER/said" || fail "another cause: $(cat "$STORY_FOLDER/said")"

say "the errors end, and the upgrade goes on by itself up to the stage that needs approval"
metric 0
until_is WaitingForApproval stage 2
is 4.12.0 runs cluster3
is 4.12.0 runs cluster4
is 4.11.9 runs cluster5

say "after the approval, the last stage waits for a check that has passed since the stage before it"
tidegate rollout approve mcu --reason CHG-1234 >/dev/null
until_is Complete mcu_phase mcu
is 5 mcu_count mcu complete
is 4.12.0 runs cluster5

say "what the check reports later does not concern the complete upgrade"
metric 5
until_is Failed result
is Complete mcu_phase mcu
