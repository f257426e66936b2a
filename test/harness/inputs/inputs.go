// Package inputs tells the go command on what a test depends that the test does not open itself: the sources of a program that
// it starts, and files that such a program reads.
//
// The go command looks its cache of test results up before a test binary runs. The key has the binary, and the name, size and
// time of every file inside of the module that a test opened or asked about the last time. What a TestMain opens before it calls
// m.Run does not count, and what another process opens never does. Without this package a test of the operator's binary says
// "ok (cached)" of an operator that panics.
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

// Program opens the sources of all packages of the module in root that go into a program, and the files that are embedded in
// them, but not their tests. It also notices files that come and go. It counts only while tests run.
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

// Trees opens all files below directories. It counts only while tests run.
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

// note lets the go command know of a file or directory. A directory is only asked about, since its time tells of files that come
// and go: opened, it would count with every file in it, tests included. A file is opened, since the go command then also refuses
// to keep results that are younger than its clock can tell apart.
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
