//go:build unix && slow

package faults

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// record replaces the recordings that make test-alerts evaluates.
var record = flag.Bool("faults.record", false, "store the scrapes of this run in test/alerts/testdata")

// evaluation is the timeout of the rule engine's build and run.
const evaluation = 10 * time.Minute

// alertsDir is the module with the rule engine.
func alertsDir(t *testing.T) string {
	t.Helper()
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "test", "alerts")
}

// store writes the scrapes into the folder of this run, and with the flag into the tree.
func (r *recording) store(t *testing.T, dir, kind, name string) {
	t.Helper()
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zip.Write(r.text.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	targets := []string{dir}
	if *record {
		targets = append(targets, filepath.Join(alertsDir(t), "testdata"))
	}
	for _, target := range targets {
		target = filepath.Join(target, kind)
		if err := os.MkdirAll(target, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(target, name+".txt.gz"), out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// evaluate runs tests of test/alerts on the scrapes of this run.
func evaluate(t *testing.T, dir, tests string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), evaluation)
	defer cancel()
	args := append([]string{"test", "-C", alertsDir(t), "-count=1", "-run=" + tests}, progress.Flags()...)
	cmd := exec.CommandContext(ctx, "go", append(args, ".", "-args", "-alerts.recordings="+dir)...)
	cmd.Env = progress.Environ(false)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the rules of the chart over what the replicas reported: %v\n%s", err, out)
	}
}
