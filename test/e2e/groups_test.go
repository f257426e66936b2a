//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/failover"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	template = "vm-operator-template"
	// groupsPerMember is the constant number of groups in each member.
	groupsPerMember = 12
	mostVMs         = 3
)

func newGroup(name string, vms int32) *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &vms},
	}
}

func groupName(i int) string { return fmt.Sprintf("vg-%d", i) }

// createGroups creates the groups of a member.
func createGroups(ctx context.Context, member *stack.Cluster) error {
	for i := range groupsPerMember {
		if err := member.Create(ctx, newGroup(groupName(i), int32(1+i%mostVMs))); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("create the groups of %s: %w", member.Name, err)
		}
	}
	return nil
}

// scaleAll changes the replicas of every group of all members. A request that fails because a replica dies is repeated,
// as users do; startCrowd is for stories in which no request can fail.
func scaleAll(ctx context.Context) error {
	for _, member := range world.members {
		groups := &v1alpha1.VmGroupList{}
		if err := member.List(ctx, groups); err != nil {
			return err
		}
		for i := range groups.Items {
			name, vms := groups.Items[i].Name, *groups.Items[i].Spec.Replicas%mostVMs+1
			if err := await.Condition(ctx, "a change of "+name, func(ctx context.Context) (bool, error) {
				err := scale(ctx, member, name, vms)
				return err == nil, err
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

func scale(ctx context.Context, member *stack.Cluster, name string, vms int32) error {
	return member.Patch(ctx, newGroup(name, 0), client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, vms)))
}

// untilFulfilled waits until every group of all members has exactly the requested VMs, in its status and in vCenter.
func untilFulfilled(t *testing.T) {
	t.Helper()
	var last string
	await.Until(t, "every group to have its VMs", func(ctx context.Context) (bool, error) {
		wanted := map[string]string{}
		for _, member := range world.members {
			groups := &v1alpha1.VmGroupList{}
			if err := member.List(ctx, groups); err != nil {
				return false, err
			}
			for i := range groups.Items {
				g := &groups.Items[i]
				if last = unfulfilled(g); last != "" {
					last = member.Name + ": " + last
					return false, nil
				}
				for _, vm := range g.Status.VMs {
					wanted[g.Status.Folder.Path+"/"+vm.Name] = string(g.UID)
				}
			}
		}
		last = strings.Join(wrongVMs(ctx, wanted), "\n")
		return last == "", nil
	}, func() string { return last })
}

func unfulfilled(g *v1alpha1.VmGroup) string {
	want := *g.Spec.Replicas
	if g.Status.ObservedGeneration != g.Generation || g.Status.ReadyReplicas != want || len(g.Status.VMs) != int(want) || g.Status.Folder == nil {
		return fmt.Sprintf("group %s wants %d VMs and has %d, %d ready; phase %s, message %q", g.Name, want, len(g.Status.VMs),
			g.Status.ReadyReplicas, g.Status.Phase, g.Status.LastMessage)
	}
	return ""
}

// wrongVMs returns the surplus and missing VMs in vCenter. wanted is the owner's UID by path.
func wrongVMs(ctx context.Context, wanted map[string]string) []string {
	vms, err := world.person.VMs(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	for path, vm := range vms {
		if !strings.HasPrefix(path, "/DC0/vm/vm-operator/") {
			continue
		}
		uid, known := wanted[path]
		switch stamp := strings.Split(vm.Extra["vmgroup.owner"], ";"); {
		case !known:
			wrong = append(wrong, path+" is an orphan, or one too many")
		case len(stamp) < 4 || stamp[3] != uid:
			wrong = append(wrong, path+" carries another group's stamp")
		case !vm.On:
			wrong = append(wrong, path+" is off")
		}
	}
	for path := range wanted {
		if _, there := vms[path]; !there {
			wrong = append(wrong, path+" is missing")
		}
	}
	return wrong
}

// oneAtATime fails if two processes ever acted on one group at the same time.
func oneAtATime(t *testing.T) {
	t.Helper()
	h := failover.NewHistory(world.proxy.Records())
	for _, o := range h.Overlaps() {
		t.Error(o)
	}
	if len(h.Calls) == 0 {
		t.Error("no call was made: the story says nothing")
	}
}

// crowd is users who continuously change groups and try to create others.
type crowd struct {
	t       *testing.T
	end     context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	changes  int
	creates  int
	failures []string
	told     bool
}

const (
	// callPatience is the users' timeout of a request.
	callPatience = 30 * time.Second
	// leastChanges and leastCreates are the minimum load for a meaningful story.
	leastChanges, leastCreates = 40, 100
)

// more waits until this many more creations were answered.
func (c *crowd) more(creates int) {
	c.t.Helper()
	count := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.creates
	}
	want := count() + creates
	await.Until(c.t, "more creations to be answered", func(context.Context) (bool, error) { return count() >= want, nil })
}

// enough waits until the load suffices for a meaningful story.
func (c *crowd) enough() {
	c.t.Helper()
	await.Until(c.t, "people to get enough answers", func(context.Context) (bool, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.changes >= leastChanges && c.creates >= leastCreates, nil
	})
}

// startCrowd begins. Each member gets a change of a group every 200 ms and a creation, as dry run, every 25 ms. The hub
// is asked about every creation, because the members' webhooks have the failure policy Fail here.
func startCrowd(t *testing.T) *crowd {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &crowd{t: t, end: cancel}
	seed := uint64(0)
	for _, member := range world.members {
		seed++
		random := rand.New(rand.NewPCG(seed, 0))
		c.running.Go(func() {
			every(ctx, 200*time.Millisecond, func() {
				limited, cancel := context.WithTimeout(ctx, callPatience)
				defer cancel()
				err := scale(limited, member, groupName(random.IntN(groupsPerMember)), int32(1+random.IntN(mostVMs)))
				c.record(ctx, &c.changes, "change a group in "+member.Name, err)
			})
		})
		c.running.Go(func() {
			every(ctx, 25*time.Millisecond, func() {
				limited, cancel := context.WithTimeout(ctx, callPatience)
				defer cancel()
				err := member.Create(limited, newGroup("never", 1), client.DryRunAll)
				c.record(ctx, &c.creates, "create a group in "+member.Name, err)
			})
		})
	}
	t.Cleanup(func() { c.stop() })
	return c
}

func (c *crowd) record(ctx context.Context, count *int, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	*count++
	if err != nil {
		world.heard(err.Error())
		c.failures = append(c.failures, fmt.Sprintf("%s at %s: %v", what, time.Now().Format(clock), err))
	}
}

// stop ends the load and fails the test for each rejected request.
func (c *crowd) stop() {
	c.end()
	c.running.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.told {
		c.told = true
		if c.changes < leastChanges || c.creates < leastCreates {
			c.t.Errorf("only %d changes and %d creations were answered: the story says little", c.changes, c.creates)
		}
		c.t.Logf("%d changes and %d creations as dry run, %d failed", c.changes, c.creates, len(c.failures))
	}
	for _, f := range c.failures[:min(len(c.failures), 8)] {
		c.t.Error(f)
	}
	c.failures = nil
}

func every(ctx context.Context, interval time.Duration, f func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f()
		}
	}
}

// refused fails unless a member rejects a group with this text.
func refused(t *testing.T, member *stack.Cluster, group *v1alpha1.VmGroup, words ...string) {
	t.Helper()
	err := member.Create(t.Context(), group)
	if err == nil || !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		t.Errorf("%s: got %v, want a refusal", member.Name, err)
		return
	}
	world.heard(err.Error())
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: the refusal %q does not say %q", member.Name, err, w)
		}
	}
}
