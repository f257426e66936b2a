// Package server listens for those who call the operator: API servers that call its webhooks, Prometheus, and kubelet. Each port has bounds on what its
// callers can make this process hold, whoever they are. [Leaving] lets callers of the webhooks go to another replica before this one ends.
package server
