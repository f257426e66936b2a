package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/codeconnect/vmgroup-operator/test/assets"
	"github.com/codeconnect/vmgroup-operator/test/progress"
)

// serverPackage starts API servers: a test that imports it, even through others, is not fast.
const serverPackage = assets.Module + "/test/localcluster"

// sideBySide is how many packages with servers of their own run at the same time. They keep two cores busy.
const sideBySide = 3

// fastTag is that of `make test-fast`: files with API servers beside unit tests are built without it only.
const fastTag = "fast"

// fastSteps are all tests that need no servers.
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
	return []step{{label: "everything that needs no servers", packages: packages, tags: fastTag, args: r.args}}, nil
}

// standardSteps are the tests of `make test`: the product's packages with the race detector as far as they have goroutines and need
// no servers, then everything else. There the detector would mostly watch the tests wait for other processes. What is short runs
// beside what is long, so that it is compiled meanwhile.
func standardSteps(ctx context.Context, r request) ([]step, error) {
	asked := r.packages
	if len(asked) == 0 {
		asked = []string{"./..."}
	}
	var plain, all []testedPackage
	lists, listCtx := errgroup.WithContext(ctx)
	lists.Go(func() (err error) { plain, err = tested(listCtx, fastTag, asked...); return err })
	lists.Go(func() (err error) { all, err = tested(listCtx, "", asked...); return err })
	if err := lists.Wait(); err != nil {
		return nil, err
	}
	racing := step{label: "the product's packages, with the race detector", race: true, tags: fastTag, args: r.args, sideBySide: 4}
	for _, p := range plain {
		if p.racy() && !p.servers {
			racing.packages = append(racing.packages, p.path)
		}
	}
	long := step{label: "stories with real servers", args: r.args, servers: true, sideBySide: sideBySide, crowded: true}
	rest := step{label: "and beside them what is short, or around the product", args: r.args, sideBySide: 1, crowded: true}
	for _, p := range all {
		switch {
		case p.servers && slices.Contains(longest, p.name()):
			long.packages = append(long.packages, p.path)
		case p.servers || !p.racy():
			rest.packages = append(rest.packages, p.path)
			rest.servers = rest.servers || p.servers
		}
	}
	longestFirst(racing.packages)
	longestFirst(long.packages)
	rest.beside = len(long.packages) > 0 // and not beside the racing ones
	steps := slices.DeleteFunc([]step{racing, long, rest}, func(s step) bool { return len(s.packages) == 0 })
	if len(steps) == 0 {
		return nil, errors.New("no package has tests")
	}
	return steps, nil
}

// longest are the packages that take longest, in this order.
var longest = []string{
	"internal/vsphere/govmomi", "internal/vsphere/contract", "internal/vsphere/share",
	"test/integration", "internal/controller/member", "test/admission", "test/failover", "test/crash", "test/rbac",
	"internal/admission/objects", "internal/sharding/death", "cmd/manager",
}

// longestFirst puts the packages that take longest to the front: go test begins them in this order, and what is begun last is
// waited for alone.
func longestFirst(packages []string) {
	rank := func(path string) int {
		if i := slices.Index(longest, strings.TrimPrefix(path, assets.Module+"/")); i >= 0 {
			return i
		}
		return len(longest)
	}
	slices.SortStableFunc(packages, func(a, b string) int { return rank(a) - rank(b) })
}

// e2eSteps are the tests that need a node, or make images, and those of what other tests are made of. One at a time: each hub with a
// node takes the machine for itself.
func e2eSteps(r request) []step {
	packages := r.packages
	if len(packages) == 0 {
		packages = []string{"./test/e2e", "./test/localcluster", "./test/certmanager", "./test/inputs", "./hack/image"}
	}
	return []step{{
		label: "what needs a node, images, and what tests are made of", packages: packages, tags: "e2e", servers: true, nodes: true, sideBySide: 1,
		args: append([]string{"-count=1"}, r.args...),
	}}
}

// testedPackage is a package that has tests.
type testedPackage struct {
	path string
	// servers says whether its tests start API servers.
	servers bool
}

// pure packages of the product have no goroutines of their own: the race detector would only make them slow. For most of them the
// linter forbids it.
var pure = []string{
	"api/", "config/", "internal/admission/objects", "internal/plan", "internal/policy", "internal/sharding/protocol", "internal/sharding/ring",
}

// name of the package in this repository.
func (p testedPackage) name() string { return strings.TrimPrefix(p.path, assets.Module+"/") }

// racy says whether the tests run code of the product in their process that the race detector can say something about.
func (p testedPackage) racy() bool {
	within := func(top string) bool { return strings.HasPrefix(p.name(), top) }
	return slices.ContainsFunc([]string{"cmd/", "internal/"}, within) && !slices.ContainsFunc(pure, within)
}

// tested lists the packages that have tests when they are built with tags.
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
