# The words of a story. Sourced before it; ends the story with the first thing that is not as told.
set -euo pipefail

addon=helloworld
namespace=open-cluster-management
patience=60

export HOME=$STORY_FOLDER
mkdir -p "$STORY_FOLDER/applied"
applied=0

# say TEXT: what happens next, for the reader of the log.
say() { printf -- '-- %s\n' "$*"; }

# tidegate …: the binary of the story.
tidegate() { "$STORY_BINARY" "$@"; }

fail() { printf 'NOT SO: %s\n' "$*" >&2; exit 1; }

# apply: stores the manifests on standard input; they are removed when the story is over.
apply() {
  applied=$((applied + 1))
  local file
  file=$(printf '%s/applied/%03d.yaml' "$STORY_FOLDER" "$applied")
  cat >"$file"
  kubectl apply -f "$file" >/dev/null
}

# apply_addon: stores the ClusterManagementAddOn of the story with the spec on standard input.
apply_addon() {
  {
    cat <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: $addon}
spec:
YAML
    cat
  } | apply
}

# rollout_settings [ADD-ON]: stores the AddOnRollout of an add-on with the spec on standard input.
rollout_settings() {
  {
    cat <<YAML
apiVersion: tidegate.io/v1alpha1
kind: AddOnRollout
metadata: {name: ${1:-$addon}}
spec:
YAML
    cat
  } | apply
}

# refused TEXT…: applies the manifests on standard input; each text must be in the refusal.
refused() {
  local said text
  if said=$(kubectl apply -f - 2>&1); then fail "this was accepted: $said"; fi
  for text in "$@"; do
    grep -qF -- "$text" <<<"$said" || fail "the refusal does not say \"$text\": $said"
  done
}

# until_is TEXT COMMAND…: repeats a command until it prints exactly TEXT. One that reads with `value` waits for a watch between two
# tries instead of reading again and again.
until_is() {
  local wanted=$1 begun=$SECONDS said
  shift
  while true; do
    said=$(awaited=$wanted "$@" 2>&1) || true
    if [ "$said" = "$wanted" ]; then return; fi
    if [ $((SECONDS - begun)) -ge "$patience" ]; then
      kubectl get mca -A -o wide >&2 || true
      # What a table hides: who is going, who is waited for, and whose it is.
      kubectl get mca -A -o 'custom-columns=OF:.metadata.namespace,GOING:.metadata.deletionTimestamp,FINALIZERS:.metadata.finalizers,OWNERS:.metadata.ownerReferences[*].uid' >&2 || true
      fail "$* says \"$said\", not \"$wanted\""
    fi
    sleep 0.2
  done
}

# value PATH OBJECT…: a field of an object; under `until_is` once it is the text that is awaited, or a few seconds have passed.
value() {
  local path=$1 said
  shift
  said=$(kubectl get "$@" -o "jsonpath={$path}") || return
  # `kubectl wait` takes no empty text, and cuts quotes and equals signs.
  case ${awaited:-} in
    "" | *[\"\'=]* | "$said") ;;
    *)
      kubectl wait "$@" --for="jsonpath={$path}=$awaited" --timeout=10s >/dev/null 2>&1 || true
      said=$(kubectl get "$@" -o "jsonpath={$path}") || return
      ;;
  esac
  printf '%s' "$said"
}

# is TEXT COMMAND…: a command prints exactly TEXT, now.
is() {
  local wanted=$1 said
  shift
  said=$("$@") || fail "$* ended with $?"
  [ "$said" = "$wanted" ] || fail "$* says \"$said\", not \"$wanted\""
}

# What an add-on on a cluster says: a condition's reason, status or message, a version, the hash of its work.
reason() { value ".status.conditions[?(@.type==\"${2:-Progressing}\")].reason" mca "$addon" -n "$1"; }
status() { value ".status.conditions[?(@.type==\"$2\")].status" mca "$addon" -n "$1"; }
message() { value ".status.conditions[?(@.type==\"${2:-Progressing}\")].message" mca "$addon" -n "$1"; }
# The version that has the install namespace as a field.
field() { value "$2" managedclusteraddons.v1alpha1.addon.open-cluster-management.io "$addon" -n "$1"; }
work() { value "$2" manifestwork "addon-$addon-deploy-0" -n "$1"; }
greeting() { work "$1" '.spec.workload.manifests[?(@.kind=="ConfigMap")].data.greeting'; }
carried() { work "$1" '.metadata.labels.open-cluster-management\.io/addon-version'; }
progression() { value ".status.installProgressions[${1:-0}].conditions[?(@.type==\"Progressing\")].message" cma "$addon"; }
clusters_with() { kubectl get mca -A --no-headers 2>/dev/null | awk -v a="$addon" '$2 == a {print $1}' | sort -V | paste -sd ' '; }

# done_on REASON CLUSTER…: waits until every cluster says REASON and is Ready.
done_on() {
  local reason=$1 cluster
  shift
  for cluster in "$@"; do
    until_is "$reason" reason "$cluster"
    until_is True status "$cluster" Ready
  done
}

# The namespace of the story, bound to the set of all clusters, which the simulated clusters bring with them.
clusters_in_reach() {
  apply <<YAML
apiVersion: v1
kind: Namespace
metadata: {name: $namespace}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global, namespace: $namespace}
spec: {clusterSet: global}
YAML
}

# placement NAME [KEY=VALUE]: clusters with that label, or all.
placement() {
  local predicates="[]"
  if [ $# -gt 1 ]; then
    predicates="[{requiredClusterSelector: {labelSelector: {matchLabels: {\"${2%%=*}\": \"${2#*=}\"}}}}]"
  fi
  apply <<YAML
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: $1, namespace: $namespace}
spec: {clusterSets: [global], predicates: $predicates}
YAML
}

# template VERSION [NAME]: an AddOnTemplate of that version. It deploys one agent and one ConfigMap with the greeting.
template() {
  apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata:
  name: ${2:-$addon-$1}
  labels: {addon.open-cluster-management.io/version: "$1"}
spec:
  addonName: $addon
  agentSpec:
    workload:
      manifests:
      - apiVersion: v1
        kind: ConfigMap
        metadata: {name: greeting, namespace: default}
        data: {greeting: "{{GREETING}}", version: "$1"}
      - apiVersion: apps/v1
        kind: Deployment
        metadata: {name: agent, namespace: default}
        spec:
          selector: {matchLabels: {app: agent}}
          template:
            metadata: {labels: {app: agent}}
            spec:
              containers:
              - {name: agent, image: "busybox:1.36.1", args: ["--cluster={{CLUSTER_NAME}}"]}
YAML
}

# config NAME GREETING: an AddOnDeploymentConfig that leaves the namespaces of the template alone.
config() {
  apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {name: $1, namespace: $namespace}
spec:
  agentInstallNamespace: ""
  customizedVariables: [{name: GREETING, value: "$2"}]
YAML
}

# hub_config NAME VERSION: an AddOnHubConfig.
hub_config() {
  apply <<YAML
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnHubConfig
metadata: {name: $1}
spec: {desiredVersion: $2}
YAML
}

# Removes what the story stored, newest first; on a hub that is only there for the story this proves that it can be removed.
the_end() {
  say "everything can be removed again"
  kubectl delete cma "$addon" --ignore-not-found --timeout=60s >/dev/null
  until_is "" clusters_with
  local file
  for file in $(ls -r "$STORY_FOLDER"/applied/*.yaml); do
    grep -q '^kind: Namespace' "$file" && continue
    kubectl delete -f "$file" --ignore-not-found --timeout=60s >/dev/null
  done
  until_is "" works_left
}
works_left() { kubectl get manifestworks -A -l "open-cluster-management.io/addon-name=$addon" -o name; }

# Upgrades of clusters. bound_set: their set is bound to the namespace of the upgrades.
bound_set() {
  apply <<YAML
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: default, namespace: default}
spec: {clusterSet: default}
YAML
}

# upgrade NAME: stores a ManagedClustersUpgrade with the spec on standard input.
upgrade() {
  {
    cat <<YAML
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: ManagedClustersUpgrade
metadata: {name: $1, namespace: default}
spec:
YAML
    cat
  } | apply
}

# What an upgrade says: its phase, a count, and of a cluster the state, the reason and its version.
mcu_phase() { value .status.phase mcu "$1"; }
mcu_count() { value ".status.clustersSummery.$2" mcu "$1"; }
mcu_cluster() { kubectl get mcu "$1" -o "jsonpath={.status.clusters[?(@.name==\"$2\")].state} {.status.clusters[?(@.name==\"$2\")].reason}"; }
runs() { value .metadata.labels.openshiftVersion managedcluster "$1"; }
mcu_works() { kubectl get manifestworks -A -l cluster.open-cluster-management.io/mcu-uid -o jsonpath='{range .items[*]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}' | sort -V | paste -sd ' '; }

# a_job NAME: an action of one Job, to stand in a spec.
a_job() {
  cat <<YAML
{manifestWork: {workload: {manifests: [{apiVersion: batch/v1, kind: Job, metadata: {name: $1, namespace: default}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example.com/tools:v1"}]}}}}]}}}
YAML
}

# prometheus_with_errors: starts a Prometheus server at STORY_PORT, and a target with the metric `story_errors`, which is 0 until `metric`
# sets it. Sets `server` to the process id of the server; both end with the story.
prometheus_with_errors() {
  mkdir -p "$STORY_FOLDER/target" "$STORY_FOLDER/prometheus"
  metric 0
  python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$STORY_FOLDER/target" >"$STORY_FOLDER/target.log" 2>&1 &
  target=$!
  trap 'kill "$target" ${server:-} 2>/dev/null || true' EXIT
  target_port() { sed -n 's/.* port \([0-9]*\) .*/\1/p' "$STORY_FOLDER/target.log"; }
  until [ -n "$(target_port)" ]; do sleep 0.1; done
  cat >"$STORY_FOLDER/prometheus/config.yaml" <<YAML
global: {scrape_interval: 1s}
scrape_configs:
- {job_name: story, metrics_path: /metrics.txt, static_configs: [{targets: ["127.0.0.1:$(target_port)"]}]}
YAML
  prometheus --config.file="$STORY_FOLDER/prometheus/config.yaml" --storage.tsdb.path="$STORY_FOLDER/prometheus/data" \
    --web.listen-address="127.0.0.1:$STORY_PORT" >"$STORY_FOLDER/prometheus/log" 2>&1 &
  server=$!
}

# check_of_errors: stores the RolloutCheck `errors`, which fails while the metric is 1 or more.
check_of_errors() {
  apply <<'YAML'
apiVersion: tidegate.io/v1alpha1
kind: RolloutCheck
metadata: {name: errors}
spec:
  prometheus:
    endpoint: main
    queries: [{name: errors, query: 'sum(story_errors)'}]
    expression: errors < 1.0
    interval: 10s
    timeout: 2s
YAML
}

# metric NUMBER: sets the metric that Prometheus reads.
metric() { printf 'story_errors %s\n' "$1" >"$STORY_FOLDER/target/new" && mv "$STORY_FOLDER/target/new" "$STORY_FOLDER/target/metrics.txt"; }
