// Package server listens for callers of the operator: API servers that call its webhooks, Prometheus, and kubelet. Each port limits the resources that
// its callers can use in this process, even unknown callers. [Leaving] moves callers of the webhooks to another replica before this one ends.
package server
