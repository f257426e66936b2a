{{- define "bounds" -}}
{{- $sep := "" -}}
{{- range . -}}
{{- if eq . "Required: {}" }}{{ $sep }}required{{ $sep = ", " }}
{{- else if ne . "Optional: {}" }}{{ $sep }}{{ markdownRenderFieldDoc . | replace "<br />" " " }}{{ $sep = ", " }}
{{- end -}}
{{- end -}}
{{- end -}}
