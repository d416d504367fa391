# Settings that many add-ons share are in a RolloutProfile.
# flags: --clusters 3
clusters_in_reach
placement everywhere
config settings hello
kubectl apply -f - >/dev/null <<YAML
apiVersion: tidegate.io/v1alpha1
kind: RolloutProfile
metadata: {name: standard}
spec:
  default: true
  orderBy: wave
  rolloutStrategy: {type: Progressive, progressive: {maxConcurrency: 1}}
YAML
template v1.0.0
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1.0.0}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: settings, namespace: $namespace}}
  installStrategy:
    type: Placements
    placements:
    - {name: everywhere, namespace: $namespace}
YAML
done_on InstallSucceed cluster1 cluster2 cluster3
kubectl wait --for=jsonpath='{.status.defaultProfile}'=standard --timeout=60s "addonrollout/$addon" >/dev/null

say "the profile is paused, and the page of its add-on says so"
kubectl patch rolloutprofile standard --type=merge -p '{"spec":{"pause":{"reason":"release day"}}}' >/dev/null
config settings ahoy
until_is RolloutPaused reason cluster1 Reconciling
is "the rollout of placement $namespace/everywhere is paused (release day)" message cluster1 Configured
if tidegate rollout resume $addon 2>"$STORY_FOLDER/said"; then fail "the add-on itself is not paused"; fi
grep -qF 'paused by the RolloutProfile standard (release day)' "$STORY_FOLDER/said" || fail "$(cat "$STORY_FOLDER/said")"

say "the edit that ends the pause warns, and the clusters go in the order of the label"
kubectl label managedcluster cluster3 wave=1 >/dev/null
kubectl label managedcluster cluster1 cluster2 wave=2 >/dev/null
kubectl patch rolloutprofile standard --type=merge -p '{"spec":{"pause":null}}' >"$STORY_FOLDER/said" 2>&1
grep -qF 'can start changes that wait' "$STORY_FOLDER/said" || fail "no warning: $(cat "$STORY_FOLDER/said")"
until_is ahoy greeting cluster3
done_on UpgradeSucceed cluster1 cluster2 cluster3

say "a profile in use is not deleted, and there is one default"
if kubectl delete rolloutprofile standard 2>"$STORY_FOLDER/said"; then fail "it is in use"; fi
grep -qF 'deletion/rollout-profile' "$STORY_FOLDER/said" || fail "$(cat "$STORY_FOLDER/said")"
refused "the RolloutProfile \"standard\" is the default already" "profile/default" <<YAML
apiVersion: tidegate.io/v1alpha1
kind: RolloutProfile
metadata: {name: other}
spec: {default: true}
YAML

say "an add-on names a profile that does not exist: nothing starts"
kubectl patch addonrollout $addon --type=merge -p '{"spec":{"profile":"slow"}}' >"$STORY_FOLDER/said" 2>&1
grep -qF 'no RolloutProfile has this name' "$STORY_FOLDER/said" || fail "no warning: $(cat "$STORY_FOLDER/said")"
config settings moin
until_is RolloutSettingsInvalid reason cluster1 Stalled
kubectl apply -f - >/dev/null <<YAML
apiVersion: tidegate.io/v1alpha1
kind: RolloutProfile
metadata: {name: slow}
spec: {}
YAML
until_is moin greeting cluster1
done_on UpgradeSucceed cluster1 cluster2 cluster3
kubectl patch addonrollout $addon --type=merge -p '{"spec":{"profile":""}}' >/dev/null
kubectl patch rolloutprofile standard --type=merge -p '{"spec":{"default":false}}' >/dev/null
kubectl delete rolloutprofile standard slow >/dev/null
