package assets

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// programs are the programs of a control plane.
var programs = []string{"kube-apiserver", "etcd"}

// Ensure returns a directory that contains kube-apiserver and etcd. It takes the first of these that works:
//
//  1. $KUBEBUILDER_ASSETS, if it contains both programs. A directory without them is an error.
//  2. The cache of an earlier call.
//  3. A download of the envtest release. It fails if its index does not answer within a few seconds.
//  4. A build from the modules below tools/, which takes about 6 minutes on two cores with empty caches.
//
// out receives the progress. If it is nil, standard error does. Parallel processes wait for the first one. The directory
// belongs to the cache: do not write to it.
func Ensure(ctx context.Context, out io.Writer) (dir string, err error) {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		if err := complete(dir); err != nil {
			return "", fmt.Errorf("KUBEBUILDER_ASSETS is set but cannot be used, correct or unset it: %w", err)
		}
		return filepath.Abs(dir)
	}
	set, err := loadControlPlane()
	if err != nil {
		return "", err
	}
	if dir := set.cached(); dir != "" {
		return dir, nil
	}
	unlock, err := lock(ctx, "control-plane", out)
	if err != nil {
		return "", err
	}
	defer unlock()
	if dir := set.cached(); dir != "" {
		return dir, nil
	}
	if err := set.download(ctx, out); err == nil {
		return set.downloaded, nil
	} else if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	for _, name := range programs {
		if _, err := Tool(ctx, name, out); err != nil {
			return "", fmt.Errorf("get %s: %w", name, err)
		}
	}
	return set.built, set.link()
}

// complete returns an error that names a missing program of a directory.
func complete(dir string) error {
	for _, name := range programs {
		if path := filepath.Join(dir, name); !isProgram(path) {
			return fmt.Errorf("%s is not an executable file", path)
		}
	}
	return nil
}

// controlPlane contains the places in the cache for a built and for a downloaded control plane.
type controlPlane struct {
	tools      []*tool
	series     string // "1.36", from the pinned kube-apiserver
	built      string // directory of links to the built programs
	downloaded string // directory of the downloaded programs
}

func loadControlPlane() (*controlPlane, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	set := &controlPlane{}
	var paths []string
	for _, name := range programs {
		t, err := loadTool(name)
		if err != nil {
			return nil, err
		}
		set.tools = append(set.tools, t)
		paths = append(paths, t.path())
	}
	version := strings.SplitN(strings.TrimPrefix(set.tools[0].version, "v"), ".", 3)
	if len(version) != 3 {
		return nil, fmt.Errorf("tools/kube-apiserver/go.mod requires %s %q, which is no version",
			set.tools[0].pkgs[0], set.tools[0].version)
	}
	set.series = version[0] + "." + version[1]
	set.built = filepath.Join(cache, "assets", hash(paths...))
	set.downloaded = filepath.Join(cache, "tools", "envtest-"+set.series+"-"+runtime.GOOS+"-"+runtime.GOARCH)
	return set, nil
}

// cached returns a complete directory, or "".
func (s *controlPlane) cached() string {
	for _, dir := range []string{s.built, s.downloaded} {
		if complete(dir) == nil {
			return dir
		}
	}
	return ""
}

// download gets the released programs. If this fails, it prints the reason in one line.
func (s *controlPlane) download(ctx context.Context, out io.Writer) error {
	if os.Getenv("VMGROUP_NO_DOWNLOAD") != "" {
		err := fmt.Errorf("VMGROUP_NO_DOWNLOAD is set")
		say(out, "%v: building kube-apiserver and etcd from Go modules instead of downloading them", err)
		return err
	}
	err := newDownloader(out).fetch(ctx, s.series, s.downloaded)
	if err != nil {
		say(out, "no ready-made kube-apiserver and etcd (%v): building them from Go modules", err)
	}
	return err
}

// link creates the directory of links to the built programs.
func (s *controlPlane) link() error {
	if complete(s.built) == nil {
		return nil
	}
	return installDir(s.built, func(tmp string) error {
		for _, t := range s.tools {
			if err := os.Symlink(t.path(), filepath.Join(tmp, t.name)); err != nil {
				return err
			}
		}
		return nil
	})
}
