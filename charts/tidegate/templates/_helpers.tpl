{{- define "tidegate.image" -}}
{{- with .Values.image -}}
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
{{- end -}}

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
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- if ne .half "certificates" }}
topologySpreadConstraints:
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
{{- with .root.Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
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
  name: tidegate-{{ .half }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "tidegate.labels" . | nindent 4 }}
spec:
  minAvailable: {{ if and (eq .half "gate") .root.Values.highAvailability.enabled }}2{{ else }}1{{ end }}
  selector:
    matchLabels:
      {{- include "tidegate.selector" . | nindent 6 }}
{{- end }}
{{- end -}}
