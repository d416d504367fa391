# The post-upgrade action fails on one cluster: that cluster has failed, the others continue, and the clusters keep their version.
# flags: --clusters 3 --openshift 4.11.9 --upgrade-time 2s --fault cluster2=post-fail
bound_set
upgrade mcu <<YAML
  clusterSelector: {}
  clusterVersion: {channel: stable-4.12, version: 4.12.0}
  upgradeStrategy: {maxConcurrency: 1}
  postUpgradeAction: $(a_job smoke-test)
YAML
until_is Failed mcu_phase mcu
is "Failed PostActionFailed" mcu_cluster mcu cluster2
is 2 mcu_count mcu complete
is 4.12.0 runs cluster2
