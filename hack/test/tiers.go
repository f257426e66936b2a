package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// serverPackage starts API servers. A test that imports it, even indirectly, is not fast.
const serverPackage = assets.Module + "/test/harness/localcluster"

// sideBySide is the number of packages with their own servers that run at the same time. They keep two cores busy.
const sideBySide = 3

// fastTag is the build tag of `make test-fast`. It excludes files with API servers beside unit tests.
const fastTag = "fast"

// fastSteps are all tests without servers.
func fastSteps(ctx context.Context, r request) ([]step, error) {
	packages := r.packages
	if len(packages) == 0 {
		all, err := tested(ctx, fastTag, "./...")
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			if !p.servers {
				packages = append(packages, p.path)
			}
		}
	}
	steps := []step{{label: "everything that needs no servers", packages: packages, tags: fastTag, args: r.args}}
	if len(r.packages) == 0 {
		layers := moduleStep(layersModule, "policies as an API server judges them", r.args)
		layers.tags, layers.beside = fastTag, true
		steps = append(steps, layers)
	}
	return steps, nil
}

// Modules with dependencies that must not be in the product's go.mod.
const (
	// layersModule compares the layers that validate groups, with the libraries of an API server.
	layersModule = "test/policylayers"
	// drawingsModule renders the drawings of the pages in a browser.
	drawingsModule = "test/drawings"
)

// moduleStep runs the tests of another module.
func moduleStep(module, label string, args []string) step {
	return step{label: label, dir: module, packages: []string{assets.Module + "/" + module}, args: args}
}

// standardSteps are the tests of `make test`: slow packages, and beside them the quick ones, so that these are compiled meanwhile.
func standardSteps(ctx context.Context, r request) ([]step, error) {
	all, err := tested(ctx, "", orAll(r.packages)...)
	if err != nil {
		return nil, err
	}
	long := step{label: "stories with real servers", args: r.args, servers: true, sideBySide: sideBySide, crowded: true}
	short := step{label: "what is short", args: r.args, sideBySide: 1, crowded: true}
	for _, p := range all {
		if slices.Contains(longest, p.name()) {
			long.packages = append(long.packages, p.path)
			continue
		}
		short.packages = append(short.packages, p.path)
		short.servers = short.servers || p.servers
	}
	longestFirst(long.packages, longest)
	short.beside = true
	return withPackages(long, short)
}

// raceSteps are the tests of `make test-race`. The race detector checks every package without servers whose code runs in the process of its
// tests. In other packages it would only check tests that wait for other programs. Explicitly named packages run with their servers.
func raceSteps(ctx context.Context, r request) ([]step, error) {
	tags := fastTag
	if len(r.packages) > 0 {
		tags = ""
	}
	units, servers, err := raced(ctx, tags, orAll(r.packages)...)
	if err != nil {
		return nil, err
	}
	return withPackages(
		step{label: "what needs no servers, with the race detector", race: true, tags: tags, args: r.args, packages: units, sideBySide: sideBySide},
		raceWithServers(servers, r.args),
	)
}

// raceWithServers is a step with the race detector for packages that start API servers.
func raceWithServers(packages, args []string) step {
	return step{
		label: "packages with servers, with the race detector", race: true, args: args, packages: packages,
		servers: true, sideBySide: sideBySide, crowded: true,
	}
}

// raced returns the packages that the race detector can check, without and with servers.
func raced(ctx context.Context, tags string, patterns ...string) (units, servers []string, err error) {
	all, err := tested(ctx, tags, patterns...)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range all {
		switch {
		case !p.racy():
		case p.servers:
			servers = append(servers, p.path)
		default:
			units = append(units, p.path)
		}
	}
	longestFirst(units, longestUnits)
	longestFirst(servers, longest)
	return units, servers, nil
}

// orAll returns the requested packages, or all.
func orAll(packages []string) []string {
	if len(packages) == 0 {
		return []string{"./..."}
	}
	return packages
}

// withPackages returns the steps that have packages.
func withPackages(steps ...step) ([]step, error) {
	steps = slices.DeleteFunc(steps, func(s step) bool { return len(s.packages) == 0 })
	if len(steps) == 0 {
		return nil, errors.New("none of these packages has tests that this command runs")
	}
	return steps, nil
}

// longest are the slowest packages, in this order.
var longest = []string{
	"test/integration", "internal/controller/member", "test/admission", "test/failover", "test/crash", "test/tenancy",
	"internal/vsphere/govmomi", "test/rbac", "internal/admission/objects", "internal/sharding/death", "internal/server", "internal/command", "internal/vsphere/contract", "internal/vsphere/share",
}

// longestUnits are the slowest packages without servers.
var longestUnits = []string{"internal/vsphere/govmomi", "test/harness/vcsim/sim", "test/world", "internal/vsphere/contract", "internal/webhook"}

// longestFirst moves the slowest packages to the front. go test starts them in this order, and a slow package at the end would run alone.
func longestFirst(packages, longest []string) {
	rank := func(path string) int {
		if i := slices.Index(longest, strings.TrimPrefix(path, assets.Module+"/")); i >= 0 {
			return i
		}
		return len(longest)
	}
	slices.SortStableFunc(packages, func(a, b string) int { return rank(a) - rank(b) })
}

// e2eSteps are the tests that need a node or make images, and the tests of the test tools. A hub with a node uses the whole machine. Tests
// without a node run beside the tests of nodes, which check no times.
func e2eSteps(r request) []step {
	e2e := func(label string, packages ...string) step {
		return step{
			label: label, packages: packages, tags: "e2e", servers: true, nodes: true, sideBySide: 1, args: append([]string{"-count=1"}, r.args...),
			offline: true,
		}
	}
	if len(r.packages) > 0 {
		return []step{e2e("what was asked for", r.packages...)}
	}
	images := e2e("and images", "./test/harness/certmanager", "./test/harness/inputs", "./hack/image")
	images.beside, images.offline = true, false
	drawings := moduleStep(drawingsModule, "and the drawings of the pages", images.args)
	drawings.tags, drawings.beside, drawings.browser = images.tags, true, true
	return []step{e2e("a release on a cluster with a node", "./test/e2e"), e2e("what tests are made of", "./test/harness/localcluster"), images, drawings}
}

// testedPackage is a package that has tests.
type testedPackage struct {
	path string
	// servers is true if its tests start API servers.
	servers bool
}

// inProcess are the trees whose code runs in the process of their tests.
var inProcess = []string{
	"cmd/", "internal/", "hack/", "test/world", "test/harness/vcsim/", "test/harness/faultproxy", "test/harness/filelock", "test/harness/progress", "test/harness/assets",
}

// pure packages have no goroutines, so the race detector would only slow them down. For most of them, the linter forbids goroutines.
var pure = []string{"hack/planted", "internal/admission/objects", "internal/group", "internal/plan", "internal/policy", "internal/sharding/protocol", "internal/sharding/ring"}

// name of the package in this repository.
func (p testedPackage) name() string { return strings.TrimPrefix(p.path, assets.Module+"/") }

// racy reports whether the race detector can check the tests.
func (p testedPackage) racy() bool {
	within := func(top string) bool { return strings.HasPrefix(p.name(), top) }
	return slices.ContainsFunc(inProcess, within) && !slices.ContainsFunc(pure, within)
}

// tested lists the packages with tests, when they are built with the tags.
func tested(ctx context.Context, tags string, patterns ...string) ([]testedPackage, error) {
	args := append([]string{"list", "-test", "-tags=" + tags, "-f", `{{.ImportPath}}{{range .Deps}} {{.}}{{end}}`}, progress.Flags()...)
	list := exec.CommandContext(ctx, "go", append(args, patterns...)...)
	list.Env = progress.Environ(false)
	out, err := list.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	var all []testedPackage
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		path, isTest := strings.CutSuffix(fields[0], ".test")
		if !isTest {
			continue
		}
		all = append(all, testedPackage{path: path, servers: slices.Contains(fields, serverPackage)})
	}
	return all, nil
}
