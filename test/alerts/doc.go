// Package alerts evaluates the rules of the chart's PrometheusRule with Prometheus' own rule engine, on a virtual clock. It is a module of its own: nothing of Prometheus is in the operator's go.mod.
package alerts
