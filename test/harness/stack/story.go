//go:build unix

package stack

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/inputs"
)

// Story is the first line of every test that uses this package. It makes the cached result of the test depend on the current operator,
// simulator, manifests and pinned tools. Without it, the go command uses the cached result even after an edit of the operator. See package
// inputs.
func Story(t testing.TB) {
	t.Helper()
	noted.once.Do(func() { noted.err = note(t) })
	if noted.err != nil {
		t.Fatal(noted.err)
	}
}

// noted is computed once in a process, because the go command keeps one result for all tests of the process.
var noted struct {
	once sync.Once
	err  error
}

func note(t testing.TB) error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	if err := inputs.Program(t.Context(), root, managerPackage, vcsimPackage); err != nil {
		return err
	}
	trees := []string{filepath.Join(root, "config")}
	for _, tool := range []string{"kube-apiserver", "etcd", "cert-manager"} {
		trees = append(trees, filepath.Join(root, "tools", tool))
	}
	return inputs.Trees(trees...)
}
