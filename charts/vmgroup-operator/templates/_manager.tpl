{{/* The manager's arguments, as a list. */}}
{{- define "vmgroup-operator.args" -}}
- --health-probe-bind-address=:8081
- --metrics-bind-address={{ .Values.metrics.enabled | ternary (print ":" (include "vmgroup-operator.metrics-port" .)) "0" }}
{{- if and .Values.metrics.enabled .Values.metrics.secure }}
- --metrics-secure
{{- if include "vmgroup-operator.metrics-secret" . }}
- --metrics-cert-path=/etc/vmgroup-operator/metrics
{{- end }}
{{- end }}
{{- if .Values.webhook.enabled }}
- --webhook-port=9443
- --webhook-cert-path=/etc/vmgroup-operator/webhook
{{- /* Left out, the manager multiplies its default by the scale of sharding. */}}
{{- if not (kindIs "invalid" .Values.webhook.drainSeconds) }}
- --webhook-drain={{ int64 .Values.webhook.drainSeconds }}s
{{- end }}
{{- with .Values.admission.url }}
- {{ print "--admission-url=" . | quote }}
{{- end }}
{{- end }}
{{- if .Values.localMember.enabled }}
- --enable-local-member
{{- end }}
{{- with .Values.manager }}
- --workers={{ int64 .workers }}
- --member-qps={{ .memberQPS }}
- --member-burst={{ int64 .memberBurst }}
- --lost-replica-wait={{ .lostReplicaWait }}
- --shard-buckets={{ int64 .sharding.buckets }}
- --sharding-scale={{ .sharding.scale }}
- --zap-log-level={{ .log.level }}
- --zap-encoder={{ .log.encoder }}
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The manager's volume mounts, as a list or nothing. */}}
{{- define "vmgroup-operator.mounts" -}}
{{- $mounts := list -}}
{{- if .Values.webhook.enabled }}
{{- $mounts = append $mounts (dict "name" "webhook-certificate" "mountPath" "/etc/vmgroup-operator/webhook" "readOnly" true) }}
{{- end }}
{{- if include "vmgroup-operator.metrics-secret" . }}
{{- $mounts = append $mounts (dict "name" "metrics-certificate" "mountPath" "/etc/vmgroup-operator/metrics" "readOnly" true) }}
{{- end }}
{{- with concat $mounts .Values.extraVolumeMounts }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* The volumes of its Pods. The certificates may come after the Pod; the Pod is ready when the webhooks' is there. */}}
{{- define "vmgroup-operator.volumes" -}}
{{- $volumes := list -}}
{{- if .Values.webhook.enabled }}
{{- $secret := dict "secretName" (include "vmgroup-operator.webhook-secret" .) "optional" true }}
{{- $volumes = append $volumes (dict "name" "webhook-certificate" "secret" $secret) }}
{{- end }}
{{- with include "vmgroup-operator.metrics-secret" . }}
{{- $volumes = append $volumes (dict "name" "metrics-certificate" "secret" (dict "secretName" .)) }}
{{- end }}
{{- with concat $volumes .Values.extraVolumes }}
{{- toYaml . }}
{{- end }}
{{- end }}
