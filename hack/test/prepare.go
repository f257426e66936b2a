package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster/machine"
	"github.com/codeconnect/vmgroup-operator/test/harness/mermaid"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// prepare builds, with visible progress, what the steps would build without output.
func prepare(ctx context.Context, steps []step) error {
	needs := func(f func(step) bool) bool { return slices.ContainsFunc(steps, f) }
	if needs(func(s step) bool { return s.servers }) {
		if err := prepareServers(ctx, steps); err != nil {
			return err
		}
	}
	if needs(func(s step) bool { return s.browser }) {
		// If they cannot be installed here, the tests report it, with the remedy.
		_, _ = mermaid.Chromium(ctx, os.Stderr)
		_, _ = assets.Mermaid(ctx, os.Stderr)
	}
	if needs(func(s step) bool { return s.race || s.raceManager }) {
		if err := raceDetector(ctx); err != nil && !needs(func(s step) bool { return !s.race }) {
			return fmt.Errorf("there is no race detector: %w", err)
		} else if err != nil {
			fmt.Printf("test: NOTE: nothing detects data races, NEITHER the operator NOR a test: %v\n", err)
			for i := range steps {
				steps[i].race, steps[i].raceManager = false, false
			}
		}
	}
	if err := compile(ctx, steps); err != nil {
		return err
	}
	if needs(func(s step) bool { return s.offline }) {
		// The tests build these programs from the modules that this downloads.
		if err := warm(ctx, "test: compiling the programs of a release", false, "", "", []string{"./cmd/...", "./hack/demo", "./hack/release"}); err != nil {
			return err
		}
	}
	if needs(func(s step) bool { return s.raceManager }) {
		return warm(ctx, "test: compiling the manager's dependencies with the race detector", true, "", "", []string{"./cmd/..."})
	}
	return nil
}

// prepareServers builds the servers and the tools of tests with servers.
func prepareServers(ctx context.Context, steps []step) error {
	programs, err := assets.Ensure(ctx, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Printf("test: kube-apiserver and etcd are in %s\n", programs)
	tools := []string{"cert-manager", "kustomize"}
	if slices.ContainsFunc(steps, func(s step) bool { return s.nodes }) {
		tools = append(tools, "helm", "govc", "gojq", "krew")
		if machine.InstallPackages(ctx, os.Stderr) == nil {
			tools = append(tools, "kube-node", "containerd")
		} else {
			// No node can run here, and the tests report it, with the remedy.
			for i := range steps {
				steps[i].offline = false
			}
		}
	}
	// Only on Linux are there tests with Kubernetes controllers.
	if slices.ContainsFunc(steps, func(s step) bool { return s.controllers }) && runtime.GOOS == "linux" {
		tools = append(tools, "kube-node")
	}
	for _, name := range tools {
		if _, err := assets.Tool(ctx, name, os.Stderr); err != nil {
			return err
		}
	}
	if _, err := assets.Kubectl(ctx, os.Stderr); err != nil {
		return err
	}
	return nil
}

// compile compiles the dependencies of what the steps test, module by module.
func compile(ctx context.Context, steps []step) error {
	for _, group := range together(steps) {
		label := "test: compiling dependencies"
		if group[0].race {
			label += " with the race detector"
		}
		packages := map[string][]string{} // by module
		for _, s := range group {
			packages[s.dir] = append(packages[s.dir], s.packages...)
		}
		for _, dir := range slices.Sorted(maps.Keys(packages)) {
			if err := warm(ctx, label, group[0].race, group[0].tags, dir, packages[dir]); err != nil {
				return err
			}
		}
	}
	return nil
}

// warm compiles the dependencies of tests in other modules, because the compilation inside `go test` has no output.
func warm(ctx context.Context, label string, race bool, tags, dir string, packages []string) error {
	build := progress.GoBuild{
		Label: label, Race: race, Dir: dir, Packages: packages, TestDependencies: true,
		Hint: "some minutes on two cores, and only the first time",
	}
	if tags != "" {
		build.Flags = []string{"-tags=" + tags}
	}
	return build.Run(ctx)
}
