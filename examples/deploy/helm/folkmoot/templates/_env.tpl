{{/* The environment of a coordinator: its settings, and the secrets by reference. */}}
{{- define "folkmoot.env" -}}
- name: FOLKMOOT_SERVER_DRAIN_SECONDS
  value: {{ .Values.drainSeconds | quote }}
- name: FOLKMOOT_SERVER_HOST_NAMES
  value: {{ join "," .Values.hostNames | quote }}
{{- with .Values.trustedProxies }}
- name: FOLKMOOT_SERVER_TRUSTED_PROXIES
  value: {{ join "," . | quote }}
{{- end }}
{{- if .Values.tls.existingSecret }}
- name: FOLKMOOT_SERVER_CERTIFICATE
  value: /etc/folkmoot/tls/tls.crt
- name: FOLKMOOT_SERVER_KEY
  value: /etc/folkmoot/tls/tls.key
{{- else }}
- name: FOLKMOOT_SERVER_TLS
  value: "off"
{{- end }}
{{- with .Values.database.existingSecret }}
- name: FOLKMOOT_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: {{ $.Values.database.urlKey }}
{{- end }}
{{- with .Values.objects }}
{{- if .url }}
- name: FOLKMOOT_STORAGE_OBJECTS
  value: {{ .url | quote }}
{{- with .endpoint }}
- name: AWS_ENDPOINT_URL
  value: {{ . | quote }}
{{- end }}
{{- with .region }}
- name: AWS_REGION
  value: {{ . | quote }}
{{- end }}
{{- if .allowHttp }}
- name: AWS_ALLOW_HTTP
  value: "true"
{{- end }}
{{- if .existingSecret }}
- name: AWS_ACCESS_KEY_ID
  valueFrom:
    secretKeyRef:
      name: {{ .existingSecret }}
      key: {{ .keyIdKey }}
- name: AWS_SECRET_ACCESS_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .existingSecret }}
      key: {{ .secretKeyKey }}
{{- end }}
{{- end }}
{{- end }}
{{- range $key, $value := .Values.settings }}
- name: {{ printf "FOLKMOOT_%s" ($key | replace "." "_" | upper) }}
  value: {{ ternary (printf "%.0f" $value) (toString $value) (kindIs "float64" $value) | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}
