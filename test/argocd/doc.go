// Package argocd tests the health checks in docs/how-to/argocd/health.yaml with Argo CD's Lua interpreter.
package argocd
