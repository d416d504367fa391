# An add-on is returned to OCM's add-on manager, which continues with the same works.
clusters_in_reach
placement everywhere
template v1
config settings hello
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: settings, namespace: $namespace}}
  installStrategy: {type: Placements, placements: [{name: everywhere, namespace: $namespace}]}
YAML
for n in $(seq "$REAL_CLUSTERS"); do done_on InstallSucceed "cluster$n"; done
uids() { kubectl get manifestworks -A -l "open-cluster-management.io/addon-name=$addon" -o 'jsonpath={range .items[*]}{.metadata.uid}{"\n"}{end}' | sort; }
before=$(uids)
for replica in 1 2; do stop_process "controllers-$replica"; done
tidegate release --all
is "" kubectl get mca -A -o 'jsonpath={.items[*].metadata.annotations.tidegate\.io/installed-by}'
stock_manager
config settings ahoy
for n in $(seq "$REAL_CLUSTERS"); do
  until_is ahoy on_cluster "cluster$n" get configmap greeting -n default -o 'jsonpath={.data.greeting}'
done
[ "$before" = "$(uids)" ] || fail "works were created again"
kubectl delete cma "$addon" --timeout=90s >/dev/null
until_is "" clusters_with
stop_process stock
for replica in 1 2; do tidegate_process "controllers-$replica" tidegate-controllers; done
