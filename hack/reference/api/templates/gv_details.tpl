{{- define "gvDetails" }}
Kinds of `{{ .GroupVersionString }}`:
{{ range .SortedKinds }}
- {{ $.TypeForKind . | markdownRenderTypeLink }}
{{- end }}
{{ range .SortedTypes }}{{ template "type" . }}{{ end }}
{{- end -}}
