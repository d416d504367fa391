# A version that one cluster cannot apply stops at that cluster, `why` names the object, and a corrected version is rolled out.
clusters_in_reach
placement everywhere
settings() {
  apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: $addon}
spec:
  addonName: $addon
  agentSpec:
    workload:
      manifests:
      - {apiVersion: $1, kind: $2, metadata: {name: greeting, namespace: default}}
YAML
}
settings v1 ConfigMap
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon}}
  installStrategy:
    type: Placements
    placements: [{name: everywhere, namespace: $namespace, rolloutStrategy: {type: Progressive, progressive: {maxConcurrency: 1}}}]
YAML
for n in $(seq "$REAL_CLUSTERS"); do done_on InstallSucceed "cluster$n"; done

say "the new version has a kind that no cluster knows: it stops at the first cluster"
settings example.com/v1 Banana
failed() { kubectl get mca -A -o 'jsonpath={range .items[*]}{.metadata.namespace} {.status.conditions[?(@.type=="Progressing")].reason}{"\n"}{end}' | awk '$2 == "UpgradeFailed" {print $1}'; }
until_is 1 eval 'failed | wc -l'
sleep 5
is 1 eval 'failed | wc -l'
first=$(failed)
tidegate why "$addon" --cluster "$first" >"$STORY_FOLDER/why" 2>&1 || true
grep -qi banana "$STORY_FOLDER/why" || fail "why does not name the object: $(cat "$STORY_FOLDER/why")"

say "a corrected version is rolled out everywhere"
settings v1 ServiceAccount
for n in $(seq "$REAL_CLUSTERS"); do
  until_is True status "cluster$n" Ready
  until_is serviceaccount/greeting on_cluster "cluster$n" get serviceaccount greeting -n default -o name
done
