// Command dashboards writes the Grafana dashboards of the chart:
//
//	go run -C hack/dashboards . ../../charts/vmgroup-operator/files/dashboards
//
// It has its own module, so that the operator does not depend on Grafana's SDK. `make generate` runs it, so that `make verify` detects an
// outdated dashboard. test/alerts evaluates the queries.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashboards FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	// Remove dashboards that no longer exist.
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, b := range []board{fleet, vcenter, replicas} {
		built, err := b.build()
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		content, err := encode(built)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, b.name+".json"), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// encode writes JSON with queries that are readable in a diff.
func encode(built dashboard.Dashboard) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(built); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
