//go:build unix

package server

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestProfilesAreOffAndNotForEverybody(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1"}
	for _, c := range []struct {
		m    Metrics
		path string
		want int
	}{
		{Metrics{Secure: true}, profilesPath, http.StatusNotFound},
		{Metrics{Secure: true, Profiles: true}, profilesPath, http.StatusUnauthorized},
		{Metrics{Secure: true, Profiles: true}, profilesPath + "heap", http.StatusUnauthorized},
		{Metrics{Secure: true, Profiles: true}, profilesPath + "profile", http.StatusUnauthorized},
		{Metrics{Secure: true, Profiles: true}, profilesPath + "cmdline", http.StatusNotFound},
	} {
		url := "https://" + strings.TrimSuffix(serveMetrics(t, c.m, config), metricsPath) + c.path
		if status, body := scrape(t, url, ""); status != c.want || strings.Contains(body, "goroutine") {
			t.Errorf("%s with --pprof=%t: status %d, want %d", c.path, c.m.Profiles, status, c.want)
		}
	}
}
