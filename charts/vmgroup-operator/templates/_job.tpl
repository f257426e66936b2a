{{/*
The Pod of a Job, or the test Pod, that runs a command of the manager. Arguments: root, account, args, env, mounts, volumes. With services, the Pod
gets the addresses of Services as environment variables.
*/}}
{{- define "vmgroup-operator.job-pod" -}}
{{- $root := .root -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: true
enableServiceLinks: {{ .services | default false }}
restartPolicy: Never
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "vmgroup-operator.pod-security" $root | nindent 2 }}
{{- with $root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: manager
    image: {{ include "vmgroup-operator.image" $root | quote }}
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    args:
      {{- toYaml .args | nindent 6 }}
    env:
      - name: POD_NAMESPACE
        valueFrom:
          fieldRef:
            fieldPath: metadata.namespace
      {{- with .env }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    resources:
      {{- toYaml $root.Values.jobs.resources | nindent 6 }}
    securityContext:
      {{- include "vmgroup-operator.container-security" $root | nindent 6 }}
    # The end of the log is the termination message of a failed container.
    terminationMessagePolicy: FallbackToLogsOnError
    {{- with .mounts }}
    volumeMounts:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- with .volumes }}
volumes:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
The ServiceAccount of a Job or of the test Pod, with its own ClusterRole. Arguments: root, name, rules; namespaced: rules in the release's namespace;
hook: the hook before which Helm creates the objects and after which it deletes them.
*/}}
{{- define "vmgroup-operator.job-account" -}}
{{- $root := .root -}}
{{- $name := .name -}}
{{- $metadata := dict "name" $name "labels" (fromYaml (include "vmgroup-operator.job-labels" $root)) -}}
{{- with .hook -}}
{{- $policy := "before-hook-creation,hook-succeeded,hook-failed" -}}
{{- $_ := set $metadata "annotations" (dict "helm.sh/hook" . "helm.sh/hook-weight" "-10" "helm.sh/hook-delete-policy" $policy) -}}
{{- end -}}
{{- $local := merge (dict "namespace" $root.Release.Namespace) $metadata -}}
{{- $subjects := list (dict "kind" "ServiceAccount" "name" $name "namespace" $root.Release.Namespace) -}}
{{- $group := "rbac.authorization.k8s.io" -}}
{{- $version := printf "%s/v1" $group -}}
---
{{ toYaml (dict "apiVersion" "v1" "kind" "ServiceAccount" "metadata" $local "automountServiceAccountToken" false) }}
---
{{ toYaml (dict "apiVersion" $version "kind" "ClusterRole" "metadata" $metadata "rules" .rules) }}
---
{{ toYaml (dict "apiVersion" $version "kind" "ClusterRoleBinding" "metadata" $metadata "subjects" $subjects
  "roleRef" (dict "apiGroup" $group "kind" "ClusterRole" "name" $name)) }}
{{- if .namespaced }}
---
{{ toYaml (dict "apiVersion" $version "kind" "Role" "metadata" $local "rules" .namespaced) }}
---
{{ toYaml (dict "apiVersion" $version "kind" "RoleBinding" "metadata" $local "subjects" $subjects
  "roleRef" (dict "apiGroup" $group "kind" "Role" "name" $name)) }}
{{- end }}
{{- end }}

{{/* The Job of a hook. Arguments: root, name, hook, args. */}}
{{- define "vmgroup-operator.hook-job" -}}
{{- $root := .root -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .name }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- include "vmgroup-operator.job-labels" $root | nindent 4 }}
  annotations:
    helm.sh/hook: {{ .hook }}
    helm.sh/hook-weight: "0"
    # A failed Job stays for inspection until the next attempt.
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    helm.sh/hook-output-log-policy: hook-failed
spec:
  backoffLimit: 3
  activeDeadlineSeconds: {{ $root.Values.jobs.activeDeadlineSeconds }}
  template:
    metadata:
      labels:
        {{- include "vmgroup-operator.job-labels" $root | nindent 8 }}
      annotations:
        kubectl.kubernetes.io/default-container: manager
    spec:
      {{- include "vmgroup-operator.job-pod" (dict "root" $root "account" .name "args" .args) | nindent 6 }}
{{- end }}

{{/* The names of the CRDs, as a list. */}}
{{- define "vmgroup-operator.crds" -}}
{{- range list "memberclusters" "vcenters" "vmgrouplimits" "vmgrouppolicies" "vmgroups" }}
- {{ . }}.vm.codeconnect.vmworld.com
{{- end }}
{{- end }}
