{{- define "gvList" -}}
# API

<!-- `make generate` writes this file from api/v1alpha1. -->

Each field of each kind, with its type, default and bounds. `kubectl explain vmgroup.spec` shows the same for a field. VmGroup and VmGroupLimits are kinds of a member; the hub has all kinds.
Only the operator writes VmGroupLimits and each `status`. What the fields do together: [VmGroup](vmgroup.md), [VCenter](vcenter.md), [MemberCluster](membercluster.md), [VmGroupPolicy](vmgrouppolicy.md).
{{ range . }}{{ template "gvDetails" . }}{{ end }}
{{- end -}}
