// Command verify checks what a compiler and a linter do not check. Generated files must be up to date, every go.mod tidy and on the same versions as the
// others, and every kustomization must build. No file can name a path of the author's machine. The operator must not grow, texts must use the terms of the
// field, and the Helm chart must pass its checks. The command changes nothing in the working tree, which can have uncommitted changes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/codeconnect/vmgroup-operator/hack/release/versions"
	"github.com/codeconnect/vmgroup-operator/hack/verify/chart"
	"github.com/codeconnect/vmgroup-operator/hack/verify/ratchet"
	"github.com/codeconnect/vmgroup-operator/hack/verify/words"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/mermaid"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

func main() {
	failed, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
	if failed > 0 {
		fmt.Printf("verify: %d checks FAILED\n", failed)
		os.Exit(1)
	}
	fmt.Println("verify: ok")
}

// run runs all checks and returns the number of failures, so that users see all failures at once.
func run() (failed int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := assets.Root()
	if err != nil {
		return 0, err
	}
	files, err := sources(ctx, root)
	if err != nil {
		return 0, err
	}
	checks := []struct {
		name  string
		check func(context.Context, string, []string) error
	}{
		{"generated files are up to date, run `make generate manifests fmt`", generated},
		{"every go.mod is tidy", tidy},
		{"all modules have one x/net, one x/oauth2, one govmomi and one patch of each Kubernetes minor", oneVersion},
		{"the operator has no evaluator of the Common Expression Language", withoutCEL},
		{"the operator has no part of the kubectl plugin", withoutPlugin},
		{"the operator has not grown: " + ratchet.File, ratchet.Check},
		{"no folder has more rejected terms than " + words.File + " allows", words.Check},
		{"the chart, its image and the pages name one version", versions.Check},
		{"what the pages name exists", pages},
		{"every drawing of a page has rendered", mermaid.Check},
		{"every kustomization builds", kustomizations},
		{"no file names a path of this machine", machinePaths},
		{"the chart has no lint with any of its ci/ values", chart.Lint},
		{"the chart's unit tests pass and name every value", chart.UnitTests},
		{"the chart falls back to its defaults for values that are missing", chart.MissingValues},
		{"the chart's objects fit the schemas of their kinds", chart.Schemas},
		{"the chart's Pods meet the security standard restricted", chart.PodSecurity},
		{"OpenShift's restricted-v2 accepts the chart's Pods", chart.OpenShift},
		{"the chart and config/ grant the same", chart.SameAsConfig},
		{"the chart grants nothing with a star, and no Secrets of all namespaces", chart.Rights},
		{"the metrics of the chart's alerts exist", chart.Alerts},
		{"each alert of the chart has a runbook", chart.Runbooks},
		{"kube-score finds nothing in the chart", chart.Scores},
	}
	defer chart.Clean()
	for _, c := range checks {
		began := time.Now()
		if err := c.check(ctx, root, files); err != nil {
			failed++
			fmt.Printf("verify: FAILED: %s:\n%v\n", c.name, err)
			continue
		}
		fmt.Printf("verify: %s: ok (%s)\n", c.name, progress.Elapsed(time.Since(began)))
	}
	return failed, ctx.Err()
}
