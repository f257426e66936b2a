package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/harness/filelock"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// tool is one module below tools/, with one program or several related ones.
type tool struct {
	name    string
	dir     string   // of the module
	pkgs    []string // the main packages, from the tool directives
	version string   // of the module with the main packages; empty if all of them are in this repository
	flags   []string
	home    string // directory of the programs in the cache
}

// trait contains the needs of a module besides its tool directives.
type trait struct {
	tags  string // build tags
	linux bool   // its programs are for Linux only
}

// traits by the name of the tool.
var traits = map[string]trait{
	// The kernel's overlay file system is sufficient. The other snapshotters need C libraries or more modules.
	"containerd": {tags: "no_btrfs no_zfs no_devmapper", linux: true},
	"kube-node":  {linux: true},
}

// Tool returns the path of the program that tools/<name>/go.mod pins. If this machine has not built it yet, Tool builds it first. For a
// module with several tool directives, it returns their directory, as [Programs] does. out receives the progress. If it is nil, standard
// error does. Tool waits while another process builds the same program. It can be called again after any error.
func Tool(ctx context.Context, name string, out io.Writer) (string, error) {
	t, err := ensureTool(ctx, name, out)
	if err != nil {
		return "", err
	}
	return t.path(), nil
}

// Programs returns the directory of the programs that tools/<name>/go.mod pins. Each has the last element of its package's path as its
// name. Like [Tool], it builds them, in one run of `go build`. The directory belongs to the cache: do not write to it.
func Programs(ctx context.Context, name string, out io.Writer) (dir string, err error) {
	t, err := ensureTool(ctx, name, out)
	if err != nil {
		return "", err
	}
	return t.home, nil
}

// ensureTool builds the programs that are not in the cache yet.
func ensureTool(ctx context.Context, name string, out io.Writer) (*tool, error) {
	t, err := loadTool(name)
	if err != nil {
		return nil, err
	}
	if t.built() {
		return t, nil
	}
	unlock, err := lock(ctx, filepath.Base(t.home), out)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if t.built() {
		return t, nil
	}
	return t, t.build(ctx, out)
}

// Tools lists the names that [Tool] accepts on this system: the directories below tools/.
func Tools() ([]string, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(root, "tools", "*", "go.mod"))
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(files))
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if traits[name].linux && runtime.GOOS != "linux" {
			continue
		}
		names = append(names, name)
	}
	return names, nil
}

func loadTool(name string) (*tool, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(root, "tools", name)
	gomod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		names, _ := Tools()
		return nil, fmt.Errorf("no tool is called %q: choose one of %s", name, strings.Join(names, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("read the module of tool %s: %w", name, err)
	}
	gosum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		return nil, fmt.Errorf("read the module of tool %s: %w", name, err)
	}
	t := &tool{name: name, dir: dir, pkgs: directives(gomod, "tool")}
	if len(t.pkgs) == 0 {
		return nil, fmt.Errorf("tools/%s/go.mod has no line `tool <package>`", name)
	}
	needs := traits[name]
	if needs.linux && runtime.GOOS != "linux" {
		return nil, fmt.Errorf("the programs of %s run on Linux only", name)
	}
	pinned := t.pkgs[0]
	for _, pkg := range t.pkgs {
		if version := versionOf(gomod, pkg); version != "" {
			pinned, t.version = pkg, version
			break
		}
	}
	t.flags = []string{"-trimpath", "-ldflags", "-s -w" + kubernetesVersion(pinned, t.version)}
	if needs.tags != "" {
		t.flags = append(t.flags, "-tags", needs.tags)
	}
	made := []string{name, string(gomod), string(gosum), runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(t.flags, " ")}
	for _, pkg := range t.pkgs {
		below, own := strings.CutPrefix(pkg, directives(gomod, "module")[0])
		if !own {
			continue
		}
		sources, err := ownSources(filepath.Join(dir, below))
		if err != nil {
			return nil, fmt.Errorf("read the sources of tool %s: %w", name, err)
		}
		made = append(made, sources...)
	}
	t.home = filepath.Join(cache, "tools", name+"-"+hash(made...))
	return t, nil
}

// program returns the path of the program of a package. A single program has the name of the tool.
func (t *tool) program(pkg string) string {
	name := t.name
	if len(t.pkgs) > 1 {
		_, name = splitLast(pkg)
	}
	return filepath.Join(t.home, name)
}

// path returns the path of the only program, or the directory of several.
func (t *tool) path() string {
	if len(t.pkgs) > 1 {
		return t.home
	}
	return t.program(t.pkgs[0])
}

// built reports whether every program is in the cache.
func (t *tool) built() bool {
	return !slices.ContainsFunc(t.pkgs, func(pkg string) bool { return !isProgram(t.program(pkg)) })
}

// versionOf returns the version of the module with a package, or "" for a package of the tool's own module.
func versionOf(gomod []byte, pkg string) string {
	version := ""
	for module := pkg; module != "." && version == ""; module, _ = splitLast(module) {
		version = requirement(gomod, module)
	}
	return version
}

// ownSources returns the Go files of a tool whose program is in this repository and not in a module that it pins.
func ownSources(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	contents := make([]string, 0, len(files))
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		contents = append(contents, filepath.Base(file), string(content))
	}
	return contents, nil
}

// splitLast splits the last element from a slash-separated path. The rest of a single element is ".".
func splitLast(path string) (rest, last string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return ".", path
	}
	return path[:i], path[i+1:]
}

// kubernetesVersion returns linker flags for programs of k8s.io/kubernetes. Without them the server's version is v0.0.0-master+$Format:%H$,
// which clients refuse to parse.
func kubernetesVersion(pkg, version string) string {
	if !strings.HasPrefix(pkg, "k8s.io/kubernetes/") {
		return ""
	}
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	const set = " -X k8s.io/component-base/version."
	return set + "gitVersion=" + version + set + "gitMajor=" + major + set + "gitMinor=" + minor
}

// build compiles the tool into the cache. The caller holds its lock.
func (t *tool) build(ctx context.Context, out io.Writer) error {
	return installDir(t.home, func(tmp string) error {
		output := tmp + string(filepath.Separator) // a directory for several programs
		if len(t.pkgs) == 1 {
			output = filepath.Join(tmp, t.name)
		}
		return progress.GoBuild{
			Label: strings.TrimSpace("building " + t.name + " " + t.version),
			Hint:  t.hint(),
			Dir:   t.dir,
			// Tool modules use no workspace. GOFLAGS of the environment could change the result without changing the key.
			Env:      []string{"GOWORK=off", "GOFLAGS="},
			Flags:    t.flags,
			Output:   output,
			Packages: t.pkgs,
			Out:      out,
		}.Run(ctx)
	})
}

func (t *tool) hint() string {
	minutes := "a few minutes"
	if t.name == "kube-apiserver" {
		minutes = "about 6 minutes"
	}
	return minutes + " on two cores with empty caches, and only the first time on this machine"
}

// lock takes the cache's lock of that name. If it must wait, it reports that to the user.
func lock(ctx context.Context, name string, out io.Writer) (unlock func(), err error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	return filelock.Lock(ctx, filepath.Join(cache, "locks", name), func() {
		say(out, "waiting for another process that is making %s", name)
	})
}

func say(out io.Writer, format string, args ...any) {
	if out == nil {
		out = os.Stderr
	}
	for _, line := range progress.Fold(fmt.Sprintf(format, args...), "", "  ", progress.Columns) {
		_, _ = fmt.Fprintln(out, line)
	}
}
