# While OCM's add-on manager is active, Tidegate writes nothing for its add-ons; when it ends, Tidegate takes them over.
clusters_in_reach
placement everywhere
template v1
config settings hello
stock_manager
holder() { kubectl get lease manager-lock -n open-cluster-management-hub -o 'jsonpath={.spec.holderIdentity}' | grep -c . ; }
until_is 1 holder
sleep 3
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon-v1}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: settings, namespace: $namespace}}
  installStrategy: {type: Placements, placements: [{name: everywhere, namespace: $namespace}]}
YAML
for n in $(seq "$REAL_CLUSTERS"); do
  until_is hello on_cluster "cluster$n" get configmap greeting -n default -o 'jsonpath={.data.greeting}'
done
writers() { kubectl get mca,manifestworks,cma -A --show-managed-fields -o 'jsonpath={range .items[*]}{range .metadata.managedFields[*]}{.manager}{"\n"}{end}{end}' | sort -u; }
if writers | grep -q tidegate; then fail "Tidegate wrote beside OCM's manager: $(writers)"; fi
say "no object changes while both run"
sleep 5
writes_at_rest 15 >"$STORY_FOLDER/beside"
[ ! -s "$STORY_FOLDER/beside" ] || fail "objects change at rest: $(cat "$STORY_FOLDER/beside")"

say "OCM's manager ends: Tidegate continues with the same works"
uids() { kubectl get manifestworks -A -l "open-cluster-management.io/addon-name=$addon" -o 'jsonpath={range .items[*]}{.metadata.uid}{"\n"}{end}' | sort; }
before=$(uids)
stop_process stock
for n in $(seq "$REAL_CLUSTERS"); do until_is True status "cluster$n" Ready; done
[ "$before" = "$(uids)" ] || fail "works were created again"
config settings ahoy
for n in $(seq "$REAL_CLUSTERS"); do
  until_is ahoy on_cluster "cluster$n" get configmap greeting -n default -o 'jsonpath={.data.greeting}'
done
