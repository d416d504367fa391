# Three stages, one after the other; the last one waits for approval. A profile pauses the upgrade.
# flags: --clusters 4 --openshift 4.11.9 --upgrade-time 2s
bound_set
kubectl label managedcluster cluster2 env=test >/dev/null
kubectl label managedcluster cluster3 cluster4 env=prod >/dev/null
kubectl apply -f - >/dev/null <<YAML
apiVersion: tidegate.io/v1alpha1
kind: RolloutProfile
metadata: {name: upgrades}
spec: {pause: {reason: release day}}
YAML
upgrade mcu <<'YAML'
  clusterSelector: {}
  clusterVersion: {channel: stable-4.12, version: 4.12.0}
  upgradeStrategy:
    profile: upgrades
    canaryClusters: {clusterSelector: {matchLabels: {name: cluster1}}}
    stages:
    - {name: test, clusterSelector: {matchLabels: {env: test}}, minSuccessTime: 1s}
    - {name: prod, clusterSelector: {matchLabels: {env: prod}}, maxConcurrency: 1, approval: true}
YAML
say "the profile pauses it"
until_is Paused mcu_phase mcu
is 0 mcu_count mcu initialized
kubectl patch rolloutprofile upgrades --type=merge -p '{"spec":{"pause":null}}' >/dev/null 2>&1

say "the canary cluster and the stage test are upgraded, and prod waits for approval"
approval=upgrade.cluster.default.mcu.prod
until_is Waiting value .status.state "rolloutapproval/$approval"
is 2 mcu_count mcu complete
is 4.11.9 runs cluster3
is 2 value .status.clusters "rolloutapproval/$approval"
is "cluster version: -> 4.12.0" value '.status.changes[0]' "rolloutapproval/$approval"
tidegate rollout status mcu >"$STORY_FOLDER/said" 2>&1 || true
grep -qF 'stage prod: 2 clusters are waiting' "$STORY_FOLDER/said" || fail "$(cat "$STORY_FOLDER/said")"

say "a rejection holds it, with its author and its reason"
tidegate rollout reject mcu --group prod --reason "not this week" >/dev/null
until_is Rejected value .status.state "rolloutapproval/$approval"
until_is ApprovalRejected value '.status.stages[1].phase' mcu/mcu
is 4.11.9 runs cluster3

say "an approval starts it, one cluster after the other"
tidegate rollout approve mcu --reason CHG-1234 >/dev/null
until_is Complete mcu_phase mcu
is 4 mcu_count mcu complete
is 4.12.0 runs cluster4

say "the approval is deleted with the upgrade"
kubectl delete mcu mcu >/dev/null
kubectl wait --for=delete "rolloutapproval/$approval" --timeout=60s >/dev/null
