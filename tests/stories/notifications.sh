# The controllers send one event for a change that waits, one when it is complete, and one when the next change is undone.
# flags: --clusters 2 --fault cluster*=apply-failure,manifest=broken:quota-exceeded --notify-url http://127.0.0.1:{port}/rollouts
if ! command -v python3 >/dev/null; then
  say "SKIPPED: the receiver needs python3, which is not installed"
  exit 0
fi
events=$STORY_FOLDER/events
: >"$events"
cat >"$STORY_FOLDER/receiver.py" <<'PYTHON'
import http.server
import sys


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(sys.argv[2], "ab") as events:
            events.write(body + b"\n")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
PYTHON
python3 "$STORY_FOLDER/receiver.py" "$STORY_PORT" "$events" &
receiver=$!
trap 'kill "$receiver"' EXIT

# sent: the types of the events that arrived, in their order.
sent() { grep -o '"type":"io\.tidegate\.[a-z.-]*"' "$events" | cut -d'"' -f4 | sed 's/^io\.tidegate\.rollout\.//' | paste -sd ' '; }
# agent NAME: a configuration that sets the name of the agent. The name "broken" fails on every cluster.
agent() {
  apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {name: settings, namespace: $namespace}
spec: {customizedVariables: [{name: AGENT, value: $1}]}
YAML
}

clusters_in_reach
placement everywhere
agent first
apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: $addon}
spec:
  addonName: $addon
  agentSpec:
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{AGENT}}", namespace: default}}
YAML
rollout_settings <<<"  onFailure: Undo"
apply_addon <<YAML
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: $addon}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: settings, namespace: $namespace}}
  installStrategy:
    type: Placements
    placements:
    - name: everywhere
      namespace: $namespace
      rolloutStrategy: {type: Progressive, progressive: {maxConcurrency: 1}}
YAML

say "the first installation is complete"
done_on InstallSucceed cluster1 cluster2
until_is completed sent

say "a change that waits for an approval sends an event with the RolloutApproval and the content"
rollout_settings <<<"  onFailure: Undo
  approvalBefore: ['*']"
agent second
until_is "completed approval-needed" sent
approval=$(kubectl get rolloutapprovals -o 'jsonpath={.items[0].metadata.name}')
content=$(value .status.content rolloutapproval "$approval")
grep -qF "\"approval\":\"$approval\"" "$events" || fail "no event has the approval: $(cat "$events")"
grep -qF "\"content\":\"$content\"" "$events" || fail "no event has the content: $(cat "$events")"
grep -qF "\"subject\":\"addons/$addon/placements/$namespace/everywhere\"" "$events" || fail "another subject: $(cat "$events")"

say "it is approved, and complete"
tidegate rollout approve "$addon" --placement "$namespace/everywhere" >/dev/null
done_on UpgradeSucceed cluster1 cluster2
until_is "completed approval-needed completed" sent

say "the next change fails and is undone"
rollout_settings <<<"  onFailure: Undo
  approvalBefore: []"
agent broken
until_is "completed approval-needed completed undone" sent
until_is RolledBack value '.status.conditions[?(@.type=="Ready")].reason' cma "$addon"

say "the clusters run the earlier content, and there is no other event"
until_is second work cluster1 '.spec.workload.manifests[0].metadata.name'
is "completed approval-needed completed undone" sent
