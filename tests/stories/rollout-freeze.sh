# While a freeze is in force, nothing starts on its clusters.
# flags: --clusters 2
clusters_in_reach
placement everywhere
config settings hello
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
done_on InstallSucceed cluster1 cluster2

say "one cluster is frozen, the other is not"
kubectl label managedcluster cluster1 tier=gold >/dev/null
tidegate rollout freeze holidays --reason "end of the year" --until 2999-01-01T00:00:00Z --cluster-label tier=gold
config settings ahoy
until_is ahoy greeting cluster2
until_is RolloutFrozen reason cluster1 Reconciling
is hello greeting cluster1
is 'the RolloutFreeze "holidays" stops changes until 2999-01-01T00:00:00Z: end of the year' message cluster1 Configured
tidegate why $addon --cluster cluster1 >"$STORY_FOLDER/why" 2>&1 || true
grep -qF 'end of the year' "$STORY_FOLDER/why" || fail "why does not name the freeze: $(cat "$STORY_FOLDER/why")"

say "it ends when it is deleted"
tidegate rollout unfreeze holidays
until_is ahoy greeting cluster1
done_on UpgradeSucceed cluster1 cluster2

say "everything is frozen"
tidegate rollout freeze incident-7 --reason "gateways fail"
config settings moin
until_is RolloutFrozen reason cluster1 Reconciling
until_is RolloutFrozen reason cluster2 Reconciling
tidegate rollout unfreeze incident-7
done_on UpgradeSucceed cluster1 cluster2
until_is moin greeting cluster2

say "invalid ones are denied, and a missing one is named"
refused "must be after from" "freeze/times" <<YAML
apiVersion: tidegate.io/v1alpha1
kind: RolloutFreeze
metadata: {name: holidays}
spec: {reason: end of the year, from: "2999-01-02T00:00:00Z", until: "2999-01-01T00:00:00Z"}
YAML
if tidegate rollout freeze holidays --reason x --until tomorrow 2>"$STORY_FOLDER/said"; then fail "this is no time"; fi
grep -qF 'must be a time such as' "$STORY_FOLDER/said" || fail "$(cat "$STORY_FOLDER/said")"
if tidegate rollout freeze holidays --reason x --until 2020-01-01T00:00:00Z 2>"$STORY_FOLDER/said"; then fail "this is over"; fi
grep -qF '"2020-01-01T00:00:00Z" is in the past' "$STORY_FOLDER/said" || fail "$(cat "$STORY_FOLDER/said")"
if tidegate rollout unfreeze holidays 2>"$STORY_FOLDER/said"; then fail "there is no such freeze"; fi
grep -qF 'no RolloutFreeze has the name "holidays"; the hub has none' "$STORY_FOLDER/said" || fail "$(cat "$STORY_FOLDER/said")"
