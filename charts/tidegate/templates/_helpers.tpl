{{/* The names of Deployments and of the objects that belong to them. Cluster-scoped objects, accounts, Secrets and the Service of the webhook have fixed names. */}}
{{- define "tidegate.fullname" -}}
{{- .Values.fullnameOverride | default .Values.nameOverride | default "tidegate" | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "tidegate.image" -}}
{{- with .Values.image -}}
{{- if not .repository }}{{ fail "set image.repository to the image of Tidegate in your registry, such as registry.example.com/tidegate" }}{{ end -}}
{{- if eq (.tag | toString) "latest" }}{{ fail "image.tag: the image of the tag latest changes, so pods that start later could run another version; set a version tag, or image.digest" }}{{ end -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}

{{/* The labels of one component; takes a dict with root and half (the component). */}}
{{- define "tidegate.labels" -}}
app.kubernetes.io/name: tidegate
app.kubernetes.io/component: {{ .half }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The labels of the pods of one component. */}}
{{- define "tidegate.podLabels" -}}
{{ include "tidegate.selector" . }}
{{- with merge dict (default dict .root.Values.podLabels) (default dict .root.Values.commonLabels) }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The labels of all objects, for a list in braces. */}}
{{- define "tidegate.commonLabels" -}}
{{- range $key, $value := .Values.commonLabels }}, {{ $key | quote }}: {{ $value | quote }}{{ end }}
{{- end -}}

{{/* The annotations of an object; takes a dict with root and annotations. */}}
{{- define "tidegate.annotations" -}}
{{- with merge dict (default dict .annotations) (default dict .root.Values.commonAnnotations) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The environment of the webhook and of the controllers: freed memory is returned to the kernel at once (docs/performance.md). */}}
{{- define "tidegate.env" -}}
- {name: MALLOC_ARENA_MAX, value: "1"}
- {name: MALLOC_MMAP_THRESHOLD_, value: "16384"}
- {name: MALLOC_TRIM_THRESHOLD_, value: "16384"}
- {name: MALLOC_TOP_PAD_, value: "0"}
{{- with .root.Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Part of the labels, which no value may change: the selectors of a Deployment are immutable. */}}
{{- define "tidegate.selector" -}}
app.kubernetes.io/name: tidegate
app.kubernetes.io/component: {{ .half }}
{{- end -}}

{{/* The pod fields that all components share; takes a dict with root and half (the component). */}}
{{- define "tidegate.pod" -}}
serviceAccountName: {{ if and (eq .half "gate") .root.Values.oneWorkload.enabled (not .root.Values.controllers.enabled) }}{{ fail "oneWorkload.enabled requires controllers.enabled" }}{{ end }}tidegate-{{ if .root.Values.oneWorkload.enabled }}controllers{{ else }}{{ .half }}{{ end }}
terminationGracePeriodSeconds: 30
securityContext:
  runAsNonRoot: true
  {{- if not (.root.Values.openshift).enabled }}
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  {{- end }}
  seccompProfile: {type: RuntimeDefault}
{{- if ne .half "certificates" }}
topologySpreadConstraints:
  {{- if .root.Values.topologySpreadConstraints }}
  {{- range .root.Values.topologySpreadConstraints }}
  - {{- toYaml . | nindent 4 }}
    {{- if not .labelSelector }}
    labelSelector:
      matchLabels:
        {{- include "tidegate.selector" $ | nindent 8 }}
    {{- end }}
  {{- end }}
  {{- else }}
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: {{ if and (eq .half "gate") .root.Values.highAvailability.enabled }}DoNotSchedule{{ else }}ScheduleAnyway{{ end }}
    labelSelector:
      matchLabels:
        {{- include "tidegate.selector" . | nindent 8 }}
{{- if and (eq .half "gate") .root.Values.highAvailability.enabled }}
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "tidegate.selector" . | nindent 8 }}
{{- end }}
{{- end }}
{{- end }}
{{- with .root.Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "tidegate.container" -}}
image: {{ include "tidegate.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy | default "IfNotPresent" }}
livenessProbe:
  httpGet: {path: /healthz, port: health}
  periodSeconds: 10
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 5
  failureThreshold: 2
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{- define "tidegate.budget" -}}
{{- $half := index .root.Values .half }}
{{- /* One replica that must stay would hold up every drain of its node. */}}
{{- if and .root.Values.podDisruptionBudget.enabled (or (gt (int $half.replicas) 1) (and (eq .half "gate") .root.Values.highAvailability.enabled)) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "tidegate.fullname" .root }}-{{ .half }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "tidegate.labels" . | nindent 4 }}
  {{- with include "tidegate.annotations" (dict "root" .root) }}{{ . | nindent 2 }}{{ end }}
spec:
  minAvailable: {{ if and (eq .half "gate") .root.Values.highAvailability.enabled }}2{{ else }}1{{ end }}
  selector:
    matchLabels:
      {{- include "tidegate.selector" . | nindent 6 }}
{{- end }}
{{- end -}}
