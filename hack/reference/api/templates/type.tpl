{{- define "type" -}}
{{- if markdownShouldRenderType . }}
{{ if .GVK }}## {{ .Name }}{{ else }}### {{ .Name }}{{ end }}
{{ if .Doc }}
{{ .Doc }}
{{ end }}
{{- if .References }}
Used in: {{ range $i, $type := .SortedReferences }}{{ if $i }}, {{ end }}{{ markdownRenderTypeLink $type }}{{ end }}
{{ end }}
{{- if .Members }}
| Field | Description | Default | Bounds |
| --- | --- | --- | --- |
{{ range .Members -}}
| `{{ .Name }}` {{ markdownRenderType .Type }} | {{ if eq .Name "metadata" }}[metadata](https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/) of each Kubernetes object{{ else }}{{ markdownRenderFieldDoc .Doc | replace "<br />" " " }}{{ end }} | {{ markdownRenderDefault .Default }} | {{ template "bounds" .Validation }} |
{{ end }}
{{- end }}
{{- if .EnumValues }}
| Value | Meaning |
| --- | --- |
{{ range .EnumValues -}}
| `{{ .Name }}` | {{ markdownRenderFieldDoc .Doc | replace "<br />" " " }} |
{{ end }}
{{- end }}
{{- end -}}
{{- end -}}
