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
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/filelock"
	"github.com/codeconnect/vmgroup-operator/test/progress"
)

// tool is one module below tools/.
type tool struct {
	name    string
	dir     string // of the module
	pkg     string // the main package, from the tool directive
	version string // of the module that has the main package
	flags   []string
	path    string // of the program in the cache
}

// Tool returns the path of the program that tools/<name>/go.mod pins, and builds it first when this machine has
// not built it yet. Progress goes to out; nil means standard error. It waits while another process builds the
// same program, and is safe to call again after any error.
func Tool(ctx context.Context, name string, out io.Writer) (string, error) {
	t, err := loadTool(name)
	if err != nil {
		return "", err
	}
	if isProgram(t.path) {
		return t.path, nil
	}
	unlock, err := lock(ctx, filepath.Base(filepath.Dir(t.path)), out)
	if err != nil {
		return "", err
	}
	defer unlock()
	if isProgram(t.path) {
		return t.path, nil
	}
	return t.path, t.build(ctx, out)
}

// Tools lists the names that [Tool] knows: the directories below tools/.
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
		names = append(names, filepath.Base(filepath.Dir(file)))
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
	t := &tool{name: name, dir: dir, pkg: directive(gomod, "tool")}
	if t.pkg == "" {
		return nil, fmt.Errorf("tools/%s/go.mod has no line `tool <package>`", name)
	}
	for module := t.pkg; module != "." && t.version == ""; {
		t.version = requirement(gomod, module)
		module, _ = splitLast(module)
	}
	t.flags = []string{"-trimpath", "-ldflags", "-s -w" + kubernetesVersion(t.pkg, t.version)}
	key := hash(name, string(gomod), string(gosum), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		strings.Join(t.flags, " "))
	t.path = filepath.Join(cache, "tools", name+"-"+key, name)
	return t, nil
}

// splitLast cuts the last element off a slash-separated path; the rest of a single element is ".".
func splitLast(path string) (rest, last string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return ".", path
	}
	return path[:i], path[i+1:]
}

// kubernetesVersion returns linker flags for programs of k8s.io/kubernetes. Without them the server calls
// itself v0.0.0-master+$Format:%H$, which clients refuse to parse.
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
	return installDir(filepath.Dir(t.path), func(tmp string) error {
		return progress.GoBuild{
			Label: strings.TrimSpace("building " + t.name + " " + t.version),
			Hint:  t.hint(),
			Dir:   t.dir,
			// Tool modules stand alone: no workspace, no cgo, no version control stamp. GOFLAGS of the
			// environment could change the result without changing the key.
			Env:      []string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-buildvcs=false"},
			Flags:    t.flags,
			Output:   filepath.Join(tmp, t.name),
			Packages: []string{t.pkg},
			Out:      out,
		}.Run(ctx)
	})
}

func (t *tool) hint() string {
	minutes := "a few minutes"
	if strings.HasPrefix(t.pkg, "k8s.io/kubernetes/") {
		minutes = "about 6 minutes"
	}
	return minutes + " on two cores with empty caches, and only the first time on this machine"
}

// lock takes the cache's lock of that name and tells the person when it has to wait.
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
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}
