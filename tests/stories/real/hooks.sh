# Before an add-on is removed from a cluster, its hook Job runs there.
clusters_in_reach
placement everywhere
apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: $addon}
spec:
  addonName: $addon
  agentSpec:
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: greeting, namespace: default}}
      - apiVersion: batch/v1
        kind: Job
        metadata: {name: tidy-up, namespace: default, annotations: {addon.open-cluster-management.io/addon-pre-delete: ""}}
        spec: {template: {spec: {restartPolicy: Never, containers: [{name: tidy, image: "busybox:1.36.1"}]}}}
YAML
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon}}
  installStrategy:
    type: Placements
    placements: [{name: everywhere, namespace: $namespace}]
YAML
for n in $(seq "$REAL_CLUSTERS"); do done_on InstallSucceed "cluster$n"; done
is "" on_cluster cluster1 get jobs -n default -o name

say "the add-on is deleted: the Job succeeds on every cluster, and then everything is deleted"
watchers=()
for n in $(seq "$REAL_CLUSTERS"); do
  on_cluster "cluster$n" get jobs -n default --watch -o 'custom-columns=NAME:.metadata.name,SUCCEEDED:.status.succeeded' >"$STORY_FOLDER/cluster$n" 2>/dev/null &
  watchers+=($!)
done
kubectl delete cma "$addon" --timeout=120s >/dev/null
until_is "" clusters_with
until_is "" works_left
left() { on_cluster "$1" get job/tidy-up configmap/greeting -n default --ignore-not-found -o name; }
for n in $(seq "$REAL_CLUSTERS"); do until_is "" left "cluster$n"; done
kill "${watchers[@]}"
for n in $(seq "$REAL_CLUSTERS"); do grep -qE '^tidy-up +1$' "$STORY_FOLDER/cluster$n" || fail "the hook did not succeed on cluster$n"; done
