# An add-on is removed from one cluster by its placement and by hand, and from all of them with the add-on. Objects that are to be orphaned
# stay on the clusters.
clusters_in_reach
kubectl label managedclusters --all tier=all --overwrite >/dev/null
placement everywhere tier=all
config base hello
apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: $addon}
spec:
  addonName: $addon
  agentSpec:
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: removed, namespace: default}}
      - apiVersion: v1
        kind: ConfigMap
        metadata: {name: kept, namespace: default, annotations: {addon.open-cluster-management.io/deletion-orphan: ""}}
YAML
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon}}
  installStrategy:
    type: Placements
    placements: [{name: everywhere, namespace: $namespace}]
YAML
for n in $(seq "$REAL_CLUSTERS"); do done_on InstallSucceed "cluster$n"; done
left() { on_cluster "$1" get configmap removed kept -n default --ignore-not-found -o name | paste -sd ' '; }
is "configmap/removed configmap/kept" left cluster1

say "the placement no longer selects cluster1"
kubectl label managedcluster cluster1 tier- >/dev/null
until_is "configmap/kept" left cluster1
until_is "" kubectl get mca "$addon" -n cluster1 --ignore-not-found -o name

say "a user deletes the ManagedClusterAddOn of cluster2: it is installed again, because the placement selects the cluster"
uid=$(kubectl get mca "$addon" -n cluster2 -o 'jsonpath={.metadata.uid}')
kubectl delete mca "$addon" -n cluster2 --timeout=60s >/dev/null
until_is True status cluster2 Ready
[ "$uid" != "$(kubectl get mca "$addon" -n cluster2 -o 'jsonpath={.metadata.uid}')" ] || fail "it was not deleted"
until_is "configmap/removed configmap/kept" left cluster2

say "the add-on is deleted"
kubectl delete cma "$addon" --timeout=90s >/dev/null
until_is "" clusters_with
for n in $(seq 2 "$REAL_CLUSTERS"); do until_is "configmap/kept" left "cluster$n"; done
until_is "" works_left
for n in $(seq "$REAL_CLUSTERS"); do on_cluster "cluster$n" delete configmap kept -n default >/dev/null; done
