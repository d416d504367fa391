# The leader of the controllers is killed: the other replica continues.
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
leader() { kubectl get lease leader -n tidegate -o 'jsonpath={.spec.holderIdentity}' | grep -oE 'controllers-[0-9]'; }
before=$(leader)
stop_process "$before" KILL
config settings ahoy
for n in $(seq "$REAL_CLUSTERS"); do until_is ahoy greeting "cluster$n"; done
[ "$(leader)" != "$before" ] || fail "the leader is still $before"
tidegate_process "$before" tidegate-controllers
