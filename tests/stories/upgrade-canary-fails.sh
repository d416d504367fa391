# A canary cluster does not upgrade before its timeout: no other cluster starts, and a user retries it.
# flags: --clusters 3 --openshift 4.11.9 --upgrade-time 2s --fault cluster1=upgrade-stall
bound_set
upgrade mcu <<'YAML'
  clusterSelector: {}
  clusterVersion: {channel: stable-4.12, version: 4.12.0}
  upgradeStrategy:
    canaryClusters: {clusterSelector: {matchLabels: {name: cluster1}}}
    clusterUpgradeTimeout: 6s
YAML
say "it takes too long, and the others wait"
until_is Halted mcu_phase mcu
is "Failed UpgradeTimeout" mcu_cluster mcu cluster1
is 0 mcu_count mcu complete
is 2 mcu_count mcu pending
is 4.11.9 runs cluster2
kubectl wait mcu/mcu --for=condition=Stalled --timeout=10s >/dev/null
say "the cluster is fixed, and retried"
kubectl annotate managedcluster cluster1 simulated-cluster/faults- >/dev/null
kubectl patch mcu mcu --type merge -p '{"spec": {"upgradeStrategy": {"clusterUpgradeTimeout": "1h"}}}' >/dev/null
kubectl annotate mcu mcu cluster.open-cluster-management.io/mcu-retry=once >/dev/null
until_is Complete mcu_phase mcu
is 3 mcu_count mcu complete
is 4.12.0 runs cluster3
