package chart

import (
	"context"
	"os"
	"path/filepath"
	"sync"
)

// rendering contains the manifests of each set of values. They are files in a folder that Clean removes.
type rendering struct {
	sync.Mutex
	dir string
	// files by the name of the set.
	files map[string]string
}

var rendered rendering

// Clean removes the files of the checks.
func Clean() {
	rendered.Lock()
	defer rendered.Unlock()
	if rendered.dir != "" {
		_ = os.RemoveAll(rendered.dir)
	}
	rendered.dir, rendered.files = "", nil
}

// render returns a file of manifests for each set of values. It renders once.
func render(ctx context.Context, root string) (map[string]string, error) {
	rendered.Lock()
	defer rendered.Unlock()
	if rendered.files != nil {
		return rendered.files, nil
	}
	dir, err := os.MkdirTemp("", "vmgroup-chart-*")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	err = eachSet(root, func(set string) error {
		out, err := template(ctx, filepath.Join(root, folder), "--values", set)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, nameOf(set)+".yaml")
		files[nameOf(set)] = path
		return os.WriteFile(path, out, 0o600)
	})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	rendered.dir, rendered.files = dir, files
	return files, nil
}
