{{/* The manager's arguments, as a list. */}}
{{- define "vmgroup-operator.args" -}}
- --health-probe-bind-address=:8081
- --metrics-bind-address={{ .Values.metrics.enabled | ternary (print ":" (include "vmgroup-operator.metrics-port" .)) "0" }}
{{- if and .Values.metrics.enabled .Values.metrics.secure }}
- --metrics-secure
{{- if .Values.metrics.pprof }}
- --pprof
{{- end }}
{{- if include "vmgroup-operator.metrics-secret" . }}
- --metrics-cert-path=/etc/vmgroup-operator/metrics
{{- end }}
{{- end }}
{{- if .Values.webhook.enabled }}
- --webhook-port=9443
- --hub-webhook-port=9444
- --webhook-cert-path=/etc/vmgroup-operator/webhook
{{- /* If unset, the manager multiplies its default by the sharding scale. */}}
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
{{- with .memberMemoryMiB }}
- --member-memory={{ int64 . }}
{{- end }}
{{- with .memberAddresses }}
- {{ printf "--member-addresses=%s" (join "," .) | quote }}
{{- end }}
- --lost-replica-wait={{ .lostReplicaWait }}
- --shard-buckets={{ int64 .sharding.buckets }}
- --sharding-scale={{ .sharding.scale }}
- --log-level={{ .log.level }}
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
GOMEMLIMIT: 90 % of the memory limit, so that Go collects garbage more often before the kernel kills the process. The rest is for memory that Go
does not count. Empty without a limit, or if extraEnv sets one. A limit is a Kubernetes quantity; Helm passes large numbers as 1.5e+09.
*/}}
{{- define "vmgroup-operator.go-memory-limit" -}}
{{- $limit := dig "limits" "memory" "" (.Values.resources | default dict) | default "" | toString -}}
{{- $own := false -}}
{{- range .Values.extraEnv }}{{ if eq .name "GOMEMLIMIT" }}{{ $own = true }}{{ end }}{{ end -}}
{{- if and $limit (not $own) -}}
{{- $units := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "m" 1e-3 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 -}}
{{- $unit := regexFind "[a-zA-Z]*$" $limit -}}
{{- $number := trimSuffix $unit $limit -}}
{{- if or (not (hasKey $units $unit)) (not (regexMatch "^[0-9]*\\.?[0-9]+([eE][+-]?[0-9]+)?$" $number)) -}}
{{- fail (printf "resources.limits.memory: %q is not a quantity; write it as 1Gi or 1024Mi" $limit) -}}
{{- end -}}
{{- $bytes := mulf $number (get $units $unit) 0.9 -}}
{{- if ge $bytes 1048576.0 -}}
{{ printf "%dMiB" (divf $bytes 1048576 | floor | int64) }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The manager's volume mounts, as a list or empty. */}}
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

{{/* The volumes of the operator's Pods. A Pod can start before the webhook certificate exists. It becomes ready when the certificate exists. */}}
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
