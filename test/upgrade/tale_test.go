//go:build unix && upgrade

package upgrade

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/failover"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// from is the commit of the version that is updated.
var from = flag.String("from", "", "commit or tag of the version that is updated, and rolled back to")

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	os.Exit(m.Run())
}

// patience is the timeout of each wait, long enough for a busy machine.
const patience = 2 * time.Minute

// tale is the story of one update.
type tale struct {
	*testing.T
	*stack.Stack
	observer *failover.Observer
	// before and after are the binaries of the two versions.
	before, after string
	groups        []*subject
	watch         *watch
	// begun is when all groups had their requested state.
	begun time.Time
	// started counts replicas, for their names, and asked the requests for an update that had not started.
	started, asked int
	// unaware is true if the updated version does not know updates of VMs.
	unaware bool
}

func newTale(t *testing.T) *tale {
	t.Helper()
	stack.Story(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	root, err := assets.Root()
	s := &tale{T: t}
	s.must(err)
	var hash string
	s.before, hash, err = Program(ctx, root, *from, t.TempDir(), os.Stderr)
	s.must(err)
	if s.after, err = stack.BuildManager(ctx, os.Stderr); err != nil {
		t.Fatal(err)
	}
	// Concurrent builds of the tree do not change the running binary.
	content, err := os.ReadFile(s.after)
	s.must(err)
	s.after = filepath.Join(t.TempDir(), "manager")
	s.must(os.WriteFile(s.after, content, 0o700))
	s.Logf("from %s (%s) to the tree and back", *from, hash)
	s.Stack, err = stack.Start(ctx, stack.Options{
		Members: members, Replicas: -1, Program: s.before,
		Sim: sim.Options{Templates: templates, CloneDelay: 50 * time.Millisecond},
	})
	s.must(err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the replicas' last words:\n%s", s.LastWords(10))
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range templates {
		s.must(s.Person.SetTemplate(s.Context(), "/DC0/vm/"+name, map[string]string{mark: name}))
	}
	s.observer, err = failover.Observe(s.Hub.Config, stack.Namespace)
	s.must(err)
	t.Cleanup(s.observer.Close)
	return s
}

func (s *tale) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// until waits for a condition; the failure includes the result of seen then.
func (s *tale) until(what string, condition func(context.Context) (bool, error), seen func() string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	if err := await.Condition(ctx, what, condition); err != nil {
		if seen != nil {
			s.Fatalf("%v; %s", err, seen())
		}
		s.Fatal(err)
	}
}

// crds makes the Job of a release install its CRDs. It never downgrades one.
func (s *tale) crds(program string) {
	s.Helper()
	s.Program = program
	s.must(s.CRDsOfProgram(s.Context(), s.Hub))
}

// accepted is the hub administrator's approval that docs/how-to/upgrade.md requires: the admissions shown in the
// status of held groups.
func (s *tale) accepted() {
	s.Helper()
	until := time.Now().Add(30 * time.Minute).UTC().Format(time.RFC3339)
	for _, name := range members {
		mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AcceptAdmittedAnnotation, until)
		s.must(s.Hub.Patch(s.Context(), mc, client.RawPatch(types.MergePatchType, patch)))
	}
}

// joins starts a replica of a version and waits until it is ready.
func (s *tale) joins(program string) *stack.Replica {
	s.Helper()
	s.Program = program
	s.started++
	version := "old"
	if program == s.after {
		version = "new"
	}
	r, err := s.AddReplica(s.Context(), fmt.Sprintf("%s-%d", version, s.started))
	s.must(err)
	s.until(r.Name+" to be ready", func(ctx context.Context) (bool, error) { return r.Ready(ctx), nil }, func() string { return r.Tail(20) })
	return r
}

// replaced is a Deployment's replacement of one Pod: a new one is ready before an old one is terminated.
func (s *tale) replaced(leaves *stack.Replica, program string) *stack.Replica {
	s.Helper()
	defer s.restless()()
	r := s.joins(program)
	s.must(leaves.Remove())
	s.until("every bucket to have an owner", func(context.Context) (bool, error) { return s.observer.Timeline().Shares()[""] == 0, nil }, nil)
	return r
}

// served waits until the members are served.
func (s *tale) served() {
	s.Helper()
	for _, name := range members {
		mc := &v1alpha1.MemberCluster{}
		s.until(name+" to be served", func(ctx context.Context) (bool, error) {
			err := s.Hub.Get(ctx, types.NamespacedName{Name: name}, mc)
			return stack.IsReady(mc.Status.Conditions), err
		}, func() string { return stack.Words(mc.Status.Conditions) })
	}
}
