// Package argocd tests the health checks that docs/how-to/argocd/health.yaml gives to Argo CD, with the Lua interpreter that
// Argo CD runs them with.
package argocd
