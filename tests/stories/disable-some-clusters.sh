# An add-on is removed from some clusters: by a user with Manual, or by an opt-out with Placements.
# flags: --clusters 4 --decision-grace 1s
clusters_in_reach
placement everywhere
template v1
config base hello
helloworld() {
  apply_addon <<YAML
  configuration:
    configs:
    - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, name: base, namespace: $namespace}
  installStrategy: $1
YAML
}
helloworld "{type: Placements, placements: [{name: everywhere, namespace: $namespace}]}"
done_on InstallSucceed cluster1 cluster2 cluster3 cluster4

say "one cluster opts out, and in again"
kubectl annotate managedcluster cluster4 "tidegate.io/opt-out=$addon" >/dev/null
until_is "cluster1 cluster2 cluster3" clusters_with
kubectl annotate managedcluster cluster4 tidegate.io/opt-out- >/dev/null
until_is "cluster1 cluster2 cluster3 cluster4" clusters_with

say "the strategy changes to Manual: everything stays, and deleted add-ons are not created again"
helloworld "{type: Manual}"
kubectl delete mca "$addon" -n cluster2 >/dev/null
kubectl delete mca "$addon" -n cluster3 >/dev/null
until_is "cluster1 cluster4" clusters_with
kubectl label managedcluster cluster1 seen=again >/dev/null
sleep 3
is "cluster1 cluster4" clusters_with

say "an add-on that a user created is not overridden by the placement"
apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: $addon, namespace: cluster2}
spec: {installNamespace: mine}
YAML
helloworld "{type: Placements, placements: [{name: everywhere, namespace: $namespace, addonSpec: {installNamespace: theirs}}]}"
until_is "cluster1 cluster2 cluster3 cluster4" clusters_with
is mine field cluster2 .spec.installNamespace
is theirs field cluster3 .spec.installNamespace
