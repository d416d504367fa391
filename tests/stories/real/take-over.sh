# The preview of a take-over agrees with what happens: with a configuration that sets every variable, no work changes.
clusters_in_reach
placement everywhere
template v1
config settings hello
for replica in 1 2; do stop_process "controllers-$replica"; done
stock_manager
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: settings, namespace: $namespace}}
  installStrategy: {type: Placements, placements: [{name: everywhere, namespace: $namespace}]}
YAML
for n in $(seq "$REAL_CLUSTERS"); do
  until_is hello on_cluster "cluster$n" get configmap greeting -n default -o 'jsonpath={.data.greeting}'
done
sleep 5
tidegate plan --take-over --live >"$STORY_FOLDER/preview" 2>&1 || true
cat "$STORY_FOLDER/preview"
specs() { kubectl get manifestworks -A -l "open-cluster-management.io/addon-name=$addon" -o 'jsonpath={range .items[*]}{.metadata.namespace} {.metadata.uid} {.metadata.generation}{"\n"}{end}' | sort; }
before=$(specs)
stop_process stock
for replica in 1 2; do tidegate_process "controllers-$replica" tidegate-controllers; done
for n in $(seq "$REAL_CLUSTERS"); do until_is True status "cluster$n" Ready; done
sleep 3
changed=$(diff <(printf '%s\n' "$before") <(specs) | grep -c '^>' || true)
say "$changed works changed"
grep -qE "(^|[^0-9])$changed of $REAL_CLUSTERS (ManifestWorks|works)" "$STORY_FOLDER/preview" || fail "$changed works changed, and the preview says: $(cat "$STORY_FOLDER/preview")"
