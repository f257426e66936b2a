// Package alerts evaluates the rules of the chart's PrometheusRule with Prometheus' own rule engine, on a virtual
// clock. It is a separate module, so that the operator's go.mod does not depend on Prometheus.
package alerts
