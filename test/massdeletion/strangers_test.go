//go:build unix && slow

package massdeletion

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// crowd are foreign VMs: half of them are below the operator's root folder.
type crowd struct {
	t       *testing.T
	folders []string
	was     map[string]sim.VM
}

// strangers creates 2,000 of them. Some have names that groups would use.
func strangers(t *testing.T) *crowd {
	t.Helper()
	const each = 1000
	c := &crowd{t: t, folders: []string{root + "/strangers", "/DC0/vm/strangers"}}
	for _, folder := range c.folders {
		if err := shared.Person.CreateFolders(t.Context(), folder); err != nil {
			t.Fatal(err)
		}
		var making errgroup.Group
		making.SetLimit(8)
		for i := range each {
			making.Go(func() error {
				_, err := shared.Person.CreateVM(t.Context(), folder, fmt.Sprintf("web-%d-0", i))
				return err
			})
		}
		if err := making.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if c.was = c.now(); len(c.was) != 2*each {
		t.Fatalf("%d strangers are there", len(c.was))
	}
	return c
}

func (c *crowd) now() map[string]sim.VM {
	c.t.Helper()
	all, err := shared.Person.VMs(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	maps.DeleteFunc(all, func(path string, _ sim.VM) bool {
		return !strings.HasPrefix(path, c.folders[0]+"/") && !strings.HasPrefix(path, c.folders[1]+"/")
	})
	return all
}

// untouched checks that each of them is unchanged.
func (c *crowd) untouched() {
	c.t.Helper()
	now := c.now()
	for path, vm := range c.was {
		if fmt.Sprint(now[path]) != fmt.Sprint(vm) {
			c.t.Errorf("%s is %+v, was %+v", path, now[path], vm)
		}
	}
}
