//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	stdlog "log"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// TestAllThatLibrariesLogIsJSON, and failures have level error and key error.
func TestAllThatLibrariesLogIsJSON(t *testing.T) {
	flags, output := stdlog.Flags(), stdlog.Writer()
	t.Cleanup(func() {
		stdlog.SetFlags(flags)
		stdlog.SetOutput(output)
		klog.ClearLogger()
	})
	var out bytes.Buffer
	log := newLogger(&out, 0)
	klog.SetLogger(log)
	boundStandardLog(log)
	for i, write := range []func(){
		func() { log.Error(errors.New("why"), "fails") },
		func() { log.Error(nil, "fails") },
		func() { klog.ErrorS(errors.New("why"), "fails", "key", "value") },
		func() { klog.Errorf("fails\n%s", "in two lines") },
		func() { runtime.HandleError(errors.New("why")) },
		func() { stdlog.Printf("http: TLS handshake error") },
		func() { tellEnd(&out, asOperator(errors.New("no hub"))) },
	} {
		out.Reset()
		write()
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["level"] != "error" || line["error"] == nil || line["msg"] == nil || line["ts"] == nil {
			t.Errorf("line %d: %v: %s", i, err, out.String())
		}
	}
	for _, write := range []func(){func() { klog.Warning("text") }, func() { klog.InfoS("text") }, func() { log.Info("text") }} {
		out.Reset()
		if write(); !strings.Contains(out.String(), `"level":"info"`) || !json.Valid(out.Bytes()) {
			t.Errorf("a line is %s", out.String())
		}
	}
	out.Reset()
	if tellEnd(&out, errors.New("no such command")); out.String() != "manager: no such command\n" {
		t.Errorf("a person is told %q", out.String())
	}
}

func TestLevelsOfTheLog(t *testing.T) {
	for value, want := range map[string]string{"debug": "debug", "info": "info", "error": "error", "1": "debug", "20": "20", "0": "", "21": "", "console": ""} {
		level := new(logLevel)
		if err := level.Set(value); (err == nil) != (want != "") || err == nil && level.String() != want {
			t.Errorf("%s is %v, %v", value, level, err)
		}
	}
}

func TestProbesThatSucceedLogNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		outside := make(pipes)
		server := probes{livePath: {"alive": healthz.Ping}, readyPath: {"ring": healthz.Ping}}.server(outside, newLogger(&out, -5))
		defer served(t, server.Server, server.Listener)()
		for _, path := range []string{livePath, readyPath} {
			if answer, _ := answerTo(t, outside.dialPlain(), fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path)); !strings.HasPrefix(answer, "200 ") {
				t.Errorf("%s: %s", path, answer)
			}
		}
		if out.Len() > 0 {
			t.Errorf("probes are logged: %s", out.String())
		}
	})
}

func TestProfilesAreOffAndNotForEverybody(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1"}
	for _, c := range []struct {
		o    options
		path string
		want int
	}{
		{options{metricsSecure: true}, profilesPath, http.StatusNotFound},
		{options{metricsSecure: true, profiles: true}, profilesPath, http.StatusUnauthorized},
		{options{metricsSecure: true, profiles: true}, profilesPath + "heap", http.StatusUnauthorized},
		{options{metricsSecure: true, profiles: true}, profilesPath + "profile", http.StatusUnauthorized},
		{options{metricsSecure: true, profiles: true}, profilesPath + "cmdline", http.StatusNotFound},
	} {
		url := "https://" + strings.TrimSuffix(serveMetrics(t, c.o, config), metricsPath) + c.path
		if status, body := scrape(t, url, ""); status != c.want || strings.Contains(body, "goroutine") {
			t.Errorf("%s with --pprof=%t: status %d, want %d", c.path, c.o.profiles, status, c.want)
		}
	}
}
