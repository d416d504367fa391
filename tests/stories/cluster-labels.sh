# Labels and annotations of clusters in the manifests of an add-on. A cluster without the label waits and reports it; a changed label reaches
# only its own cluster.
# flags: --clusters 3
clusters_in_reach
placement everywhere
kubectl label managedcluster cluster1 site=eu >/dev/null
kubectl label managedcluster cluster2 site=us >/dev/null
apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: $addon}
spec:
  addonName: $addon
  agentSpec:
    workload:
      manifests:
      - apiVersion: v1
        kind: ConfigMap
        metadata: {name: greeting, namespace: default}
        data: {greeting: "{{CLUSTER_LABEL:site}} {{CLUSTER_LABEL:stage:-test}} {{CLUSTER_ANNOTATION:example.com/owner:-none}}"}
YAML
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon}}
  installStrategy:
    type: Placements
    placements:
    - {name: everywhere, namespace: $namespace}
YAML
done_on InstallSucceed cluster1 cluster2
is "eu test none" greeting cluster1
is "us test none" greeting cluster2

say "the third has no site, and reports it"
until_is RenderingFailed reason cluster3 Stalled
until_is 'manifest 0 (ConfigMap default/greeting): data.greeting: the cluster has no label "site"' message cluster3
kubectl label managedcluster cluster3 site=asia >/dev/null
done_on InstallSucceed cluster3
is "asia test none" greeting cluster3

say "a changed label or annotation reaches the work of its cluster, and no other"
before=$(work cluster1 .metadata.generation)
kubectl label managedcluster cluster2 stage=prod unused=1 >/dev/null
kubectl annotate managedcluster cluster2 'example.com/owner=a "b" \{{GREETING}}' >/dev/null
until_is 'us prod a "b" \{{GREETING}}' greeting cluster2
until_is True status cluster2 Ready
is "$before" work cluster1 .metadata.generation

say "the webhook denies a variable that no cluster can have"
refused 'must be {{CLUSTER_LABEL:KEY}} or {{CLUSTER_LABEL:KEY:-DEFAULT}}, where KEY is the key of a label' <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: $addon-wrong}
spec:
  addonName: $addon
  agentSpec:
    workload:
      manifests:
      - apiVersion: v1
        kind: ConfigMap
        metadata: {name: greeting, namespace: default}
        data: {greeting: "{{CLUSTER_LABEL:}}"}
YAML
