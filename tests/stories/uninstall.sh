# Deleting the add-on runs its pre-delete hook on every cluster and leaves nothing behind; a deleted cluster does not block it.
# flags: --clusters 3
clusters_in_reach
placement everywhere
config base hello
apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata:
  name: $addon-v1
  labels: {addon.open-cluster-management.io/version: v1}
spec:
  addonName: $addon
  agentSpec:
    workload:
      manifests:
      - apiVersion: v1
        kind: ConfigMap
        metadata: {name: greeting, namespace: default}
        data: {greeting: "{{GREETING}}"}
      - apiVersion: batch/v1
        kind: Job
        metadata:
          name: tidy-up
          namespace: default
          annotations: {addon.open-cluster-management.io/addon-pre-delete: ""}
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
              - {name: tidy, image: "busybox:1.36.1", command: [sh, -c, "echo {{CLUSTER_NAME}} is tidy"]}
YAML
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: base, namespace: $namespace}}
  installStrategy:
    type: Placements
    placements:
    - {name: everywhere, namespace: $namespace}
YAML
done_on InstallSucceed cluster1 cluster2 cluster3
is '["addon.open-cluster-management.io/addon-pre-delete"]' field cluster1 .metadata.finalizers
is "" kubectl get manifestwork -A -o 'jsonpath={.items[?(@.metadata.name=="addon-helloworld-pre-delete")].metadata.name}'

say "one cluster is deleted"
kubectl delete managedcluster cluster3 --wait=false >/dev/null
kubectl patch managedcluster cluster3 --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null 2>&1 || true

say "the ClusterManagementAddOn is deleted: hooks run, then everything is deleted"
kubectl get manifestworks -A -w -o 'custom-columns=NAME:.metadata.name' >"$STORY_FOLDER/seen" 2>/dev/null &
watcher=$!
kubectl delete cma "$addon" --timeout=60s >/dev/null
until_is "" clusters_with
until_is "" works_left
kill "$watcher"
grep -q "addon-$addon-pre-delete" "$STORY_FOLDER/seen" || fail "the hook did not run"
is "" kubectl get managedclusters -l "feature.open-cluster-management.io/addon-$addon" -o name
