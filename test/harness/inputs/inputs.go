// Package inputs declares the dependencies of a test to the go command that the test does not open: the sources of a program that it
// starts, and files that such a program reads.
//
// The go command checks its cache of test results before a test binary runs. The key includes the binary. It also includes the name, size
// and time of every file inside of the module that the test opened or checked in its last run. It excludes files that a TestMain opens
// before it calls m.Run, and files that other processes open. Without this package, a test of the operator's binary reports "ok (cached)"
// for an operator that panics.
package inputs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// Program opens the sources of all packages of the module in root that are part of a program. It includes embedded files,
// but no tests. It also notices new and removed files. It has an effect only while tests run.
func Program(ctx context.Context, root string, packages ...string) error {
	const format = `{{with .Module}}{{if .Main}}{{$.Dir}}{{range $.GoFiles}}
{{$.Dir}}/{{.}}{{end}}{{range $.EmbedFiles}}
{{$.Dir}}/{{.}}{{end}}{{end}}{{end}}`
	args := append([]string{"list", "-deps", "-f", format}, progress.Flags()...)
	list := exec.CommandContext(ctx, "go", append(args, packages...)...)
	list.Dir, list.Env = root, progress.Environ(false)
	out, err := list.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return fmt.Errorf("list the sources of %s: %w", strings.Join(packages, " "), err)
	}
	for _, path := range append(strings.Fields(string(out)), filepath.Join(root, "go.mod"), filepath.Join(root, "go.sum")) {
		if err := note(path); err != nil {
			return err
		}
	}
	return nil
}

// Trees opens all files below directories. It has an effect only while tests run.
func Trees(directories ...string) error {
	for _, directory := range directories {
		err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			return note(path)
		})
		if err != nil {
			return fmt.Errorf("open what a test depends on: %w", err)
		}
	}
	return nil
}

// note declares a file or directory to the go command. It only calls Stat on a directory, because the directory's time shows new and
// removed files. An opened directory would include every file in it, tests included. A file is opened, so that the go command also discards
// results that are younger than the resolution of its clock.
func note(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return file.Close()
}
