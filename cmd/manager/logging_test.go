//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	stdlog "log"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/codeconnect/vmgroup-operator/internal/server"
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
	server.BoundStandardLog(log)
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
		t.Errorf("standard error is %q", out.String())
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
