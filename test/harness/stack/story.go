//go:build unix

package stack

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/inputs"
)

// Story is the first line of every test that needs what this package starts: it makes the result of the test belong to the
// operator, the simulator, the manifests and the pinned tools as they are now. Without it the go command takes the result from
// its cache after an edit of the operator; see package inputs.
func Story(t testing.TB) {
	t.Helper()
	noted.once.Do(func() { noted.err = note(t) })
	if noted.err != nil {
		t.Fatal(noted.err)
	}
}

// noted is done once in a process: the go command keeps one result for all tests that ran in it.
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
