# On every cluster an add-on waits until the one that it depends on runs there, and cycles are denied.
# flags: --clusters 2
clusters_in_reach
placement everywhere
placement with-base base=yes
kubectl label managedcluster cluster1 base=yes >/dev/null

# addon_on NAME PLACEMENT DEPENDS-ON [GREETING]: a ClusterManagementAddOn with a template of one ConfigMap.
addon_on() {
  if [ -n "$3" ]; then rollout_settings "$1" <<<"  dependsOn: [$3]"; fi
  apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: $1}
spec:
  addonName: $1
  agentSpec:
    workload:
      manifests:
      - apiVersion: v1
        kind: ConfigMap
        metadata: {name: $1, namespace: default}
        data: {greeting: "${4:-one}"}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: $1}
spec:
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $1}}
  installStrategy:
    type: Placements
    placements:
    - {name: $2, namespace: $namespace}
YAML
}
addon_on base with-base ""
addon_on "$addon" everywhere base

say "it is installed where base runs, and waits where it does not"
done_on InstallSucceed cluster1
until_is WaitingForDependency reason cluster2 Reconciling
is WaitingForDependency reason cluster2
is "waiting for the add-ons that this add-on depends on: base" message cluster2 Configured
is "" kubectl get manifestworks -n cluster2 -o name

say "it continues when base runs"
kubectl label managedcluster cluster2 base=yes >/dev/null
done_on InstallSucceed cluster2

say "both are changed at once, and both complete"
addon_on "$addon" everywhere base two
addon_on base with-base "" two
until_is two greeting cluster1
until_is two greeting cluster2
done_on UpgradeSucceed cluster1 cluster2

say "a cycle is denied, and an add-on that does not exist warns"
refused "creates a dependency cycle: base -> $addon -> base" <<YAML
apiVersion: tidegate.io/v1alpha1
kind: AddOnRollout
metadata: {name: base}
spec: {dependsOn: [$addon]}
YAML
said=$(kubectl patch addonrollout base --type=merge -p '{"spec":{"dependsOn":["elsewhere"]}}' --dry-run=server 2>&1)
grep -qF "no ClusterManagementAddOn has this name" <<<"$said" || fail "no warning: $said"
