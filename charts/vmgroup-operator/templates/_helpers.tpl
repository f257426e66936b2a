{{/*
Sets missing values to the chart's defaults. Each file starts with it, because Helm guarantees no rendering order. Helm has no default for values that a later
chart adds (--reuse-values), and none for values that a user sets to null.
*/}}
{{- define "vmgroup-operator.defaults" -}}
{{- include "vmgroup-operator.fill" (dict "values" .Values "defaults" (.Files.Get "files/defaults.yaml" | fromYaml) "path" "") -}}
{{- end }}

{{/* Arguments: values, defaults, path. Values that a user can remove with null stay removed: Kubernetes has its own defaults for them. */}}
{{- define "vmgroup-operator.fill" -}}
{{- $removable := list "resources" "jobs.resources" "livenessProbe" "readinessProbe" "strategy.rollingUpdate" "nodeSelector" -}}
{{- range $key, $default := .defaults -}}
{{- $path := print $.path $key -}}
{{- if not (hasKey $.values $key) -}}
{{- $_ := set $.values $key $default -}}
{{- else if and (kindIs "map" $default) (kindIs "map" (get $.values $key)) (not (has $path $removable)) -}}
{{- include "vmgroup-operator.fill" (dict "values" (get $.values $key) "defaults" $default "path" (print $path ".")) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Labels by which Services, the Deployment and the operator select the operator's Pods. The Pods of Jobs have other labels. */}}
{{- define "vmgroup-operator.selector" -}}
app.kubernetes.io/name: vmgroup-operator
{{- end }}

{{/* Labels of all objects. */}}
{{- define "vmgroup-operator.labels" -}}
app.kubernetes.io/name: vmgroup-operator
{{ include "vmgroup-operator.release-labels" . }}
{{- end }}

{{/* Labels of Jobs, their Pods and related objects. The name differs, so that no selector of replicas matches them. */}}
{{- define "vmgroup-operator.job-labels" -}}
app.kubernetes.io/name: vmgroup-operator-jobs
{{ include "vmgroup-operator.release-labels" . }}
{{- end }}

{{- define "vmgroup-operator.release-labels" -}}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ include "vmgroup-operator.version-tag" . | quote }}
app.kubernetes.io/part-of: vmgroup-operator
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
The tag of this release's image. It has no "+", which labels and tags do not allow, and no "v" before the number: `make image` and
charts remove the "v" of git tags.
*/}}
{{- define "vmgroup-operator.version-tag" -}}
{{ regexReplaceAll "^v([0-9])" .Chart.AppVersion "${1}" | replace "+" "_" }}
{{- end }}

{{- define "vmgroup-operator.image" -}}
{{- $name := .Values.image.repository -}}
{{- with .Values.image.registry | default (.Values.global | default dict).imageRegistry }}{{ $name = printf "%s/%s" (trimSuffix "/" .) $name }}{{ end -}}
{{- if .Values.image.digest -}}
{{ printf "%s@%s" $name .Values.image.digest }}
{{- else -}}
{{ printf "%s:%s" $name (.Values.image.tag | default (include "vmgroup-operator.version-tag" .)) }}
{{- end -}}
{{- end }}

{{/*
The security context that Pod Security profile "restricted" requires. OpenShift sets user and groups from the range of the namespace, and rejects
Pods with other values (SecurityContextConstraints "restricted-v2").
*/}}
{{- define "vmgroup-operator.pod-security" -}}
{{- $context := dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- if not (include "vmgroup-operator.openshift" .) -}}
{{- $context = merge $context (dict "runAsUser" 65532 "runAsGroup" 65532 "fsGroup" 65532) -}}
{{- end -}}
{{- range $field, $value := .Values.podSecurityContext }}{{ $_ := set $context $field $value }}{{ end -}}
{{ toYaml $context }}
{{- end }}

{{- define "vmgroup-operator.container-security" -}}
{{- $context := dict "runAsNonRoot" true "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")) -}}
{{- if not (include "vmgroup-operator.openshift" .) -}}
{{- $context = merge $context (dict "runAsUser" 65532 "runAsGroup" 65532) -}}
{{- end -}}
{{- range $field, $value := .Values.securityContext }}{{ $_ := set $context $field $value }}{{ end -}}
{{ toYaml $context }}
{{- end }}

{{/* "true" if the hub is an OpenShift cluster, else empty. */}}
{{- define "vmgroup-operator.openshift" -}}
{{- if .Capabilities.APIVersions.Has "security.openshift.io/v1" -}}true{{- end -}}
{{- end }}

{{/* Name of the Secret with the webhooks' certificate. */}}
{{- define "vmgroup-operator.webhook-secret" -}}
{{ .Values.webhook.certManager.enabled | ternary "vmgroup-operator-webhook-tls" .Values.webhook.existingSecret }}
{{- end }}

{{/* Name of the Secret with the metrics' certificate, or empty. */}}
{{- define "vmgroup-operator.metrics-secret" -}}
{{- if and .Values.metrics.enabled .Values.metrics.secure -}}
{{ .Values.metrics.tls.certManager | ternary "vmgroup-operator-metrics-tls" .Values.metrics.tls.existingSecret }}
{{- end -}}
{{- end }}

{{- define "vmgroup-operator.metrics-port" -}}
{{ .Values.metrics.secure | ternary 8443 8080 }}
{{- end }}

{{/* The host of admission.url without port and brackets, or empty. */}}
{{- define "vmgroup-operator.admission-host" -}}
{{- with .Values.admission.url -}}
{{ regexReplaceAll "(:[0-9]+)$" (urlParse .).host "" | trimPrefix "[" | trimSuffix "]" }}
{{- end -}}
{{- end }}

{{/* "true" if a host is an IP address, else empty. */}}
{{- define "vmgroup-operator.is-address" -}}
{{- if or (regexMatch "^[0-9]+(\\.[0-9]+){3}$" .) (contains ":" .) -}}true{{- end -}}
{{- end }}

{{/* A duration of hours, minutes and seconds, in seconds. */}}
{{- define "vmgroup-operator.seconds" -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+[hms]" . -1 -}}
{{- $sum = add $sum (mul (regexFind "[0-9]+" . | atoi) (get (dict "h" 3600 "m" 60 "s" 1) (regexFind "[hms]" .))) -}}
{{- end -}}
{{- $sum -}}
{{- end }}

{{/*
"true" if Helm creates objects that the hub validates with the operator while none of its Pods runs yet, else empty. Rendering alone
(`helm template`, Argo CD) always appears as an installation, but has no access to the cluster.
*/}}
{{- define "vmgroup-operator.nobody-answers" -}}
{{- $objects := or .Values.vcenter.enabled .Values.policy.enabled .Values.localMember.enabled .Values.members -}}
{{- if and .Release.IsInstall $objects (lookup "v1" "Namespace" "" "kube-system") -}}true{{- end -}}
{{- end }}

{{/*
"true" if the running Pods are of a release without a port for the hub's kinds, else empty. Then no Pod answers on that port before the first Pod is
replaced, and the certificate lacks the Service's name until it is renewed. `helm template` and Argo CD have no access to the cluster.
*/}}
{{- define "vmgroup-operator.new-port" -}}
{{- $there := lookup "v1" "Service" .Release.Namespace "vmgroup-operator-hub" -}}
{{- if and .Release.IsUpgrade (not $there) (lookup "v1" "Namespace" "" "kube-system") -}}true{{- end -}}
{{- end }}

{{/* The subjects of a binding of the operator's ServiceAccount. */}}
{{- define "vmgroup-operator.subjects" -}}
- kind: ServiceAccount
  name: vmgroup-operator
  namespace: {{ .Release.Namespace | quote }}
{{- end }}

{{/*
The objects of a file that is copied from config/, with this release's labels and namespace. Arguments: root, file.
Objects in kube-system and default keep their namespace.
*/}}
{{- define "vmgroup-operator.file" -}}
{{- $root := .root -}}
{{- $labels := fromYaml (include "vmgroup-operator.labels" $root) -}}
{{- $content := $root.Files.Get .file | required (printf "the chart lacks %s" .file) -}}
{{- range $document := regexSplit "(?m)^---$" $content -1 }}
{{- $object := fromYaml $document }}
{{- if $object }}
{{- $metadata := $object.metadata }}
{{- $_ := set $metadata "labels" (mergeOverwrite (dict) ($metadata.labels | default dict) $labels) }}
{{- if and $metadata.namespace (not (has $metadata.namespace (list "kube-system" "default"))) }}
{{- $_ := set $metadata "namespace" $root.Release.Namespace }}
{{- end }}
{{- range $object.subjects }}
{{- if and (eq .kind "ServiceAccount") (eq .namespace "vmgroup-operator-system") }}
{{- $_ := set . "namespace" $root.Release.Namespace }}
{{- end }}
{{- end }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
{{- end }}

{{/* The issuer of certificates: the configured one, or the chart's own CA. */}}
{{- define "vmgroup-operator.issuer" -}}
{{- if .Values.webhook.certManager.issuerRef }}
{{- toYaml (mergeOverwrite (dict "group" "cert-manager.io" "kind" "Issuer") .Values.webhook.certManager.issuerRef) }}
{{- else -}}
group: cert-manager.io
kind: Issuer
name: vmgroup-operator-ca
{{- end }}
{{- end }}
