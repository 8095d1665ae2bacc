{{/* The name of every object: that of the release. */}}
{{- define "folkmoot.name" -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "folkmoot.selectorLabels" -}}
app.kubernetes.io/name: folkmoot
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "folkmoot.labels" -}}
{{ include "folkmoot.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{- end -}}

{{- define "folkmoot.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "folkmoot.name" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/* Whether there may be more than one coordinator. */}}
{{- define "folkmoot.isScaled" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) -}}yes{{- end -}}
{{- end -}}

{{- define "folkmoot.scheme" -}}
{{- ternary "HTTPS" "HTTP" (not (empty .Values.tls.existingSecret)) -}}
{{- end -}}

{{/* Ends with an error if values do not fit together. */}}
{{- define "folkmoot.check" -}}
{{- if empty .Values.hostNames -}}
{{- fail "hostNames is empty. Set it to the names by which clients reach the coordinators, for example [coordinator.example]" -}}
{{- end -}}
{{- $shares := and .Values.database.existingSecret .Values.objects.url -}}
{{- if and (include "folkmoot.isScaled" .) (not $shares) -}}
{{- fail "several coordinators need one database and one object store. Set database.existingSecret and objects.url, or set replicas to 1 and autoscaling.enabled to false" -}}
{{- end -}}
{{- if and (not .Values.persistence.enabled) (not $shares) -}}
{{- fail "without a volume, the database and the models would be lost with the pod. Set database.existingSecret and objects.url, or set persistence.enabled to true" -}}
{{- end -}}
{{- if and .Values.ingress.enabled .Values.tls.existingSecret -}}
{{- fail "ingress.enabled and tls.existingSecret exclude each other: an Ingress ends TLS itself. Set ingress.tlsSecret instead" -}}
{{- end -}}
{{- if le (int .Values.terminationGracePeriodSeconds) (int .Values.drainSeconds) -}}
{{- fail "terminationGracePeriodSeconds is not longer than drainSeconds, so Kubernetes would kill coordinators that drain. Set it to drainSeconds plus 30 or more" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (empty .Values.ingress.tlsSecret) -}}
{{- fail "ingress.tlsSecret is empty. Clients connect over TLS only; set it to a secret with a certificate for hostNames" -}}
{{- end -}}
{{- end -}}
