//go:build unix && slow

package faults

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	template  = "vm-operator-template"
	newer     = "vm-operator-template-2"
	member    = "team-a"
	namespace = "shop"
	// group has enough VMs that their loss exceeds the threshold of a repair storm.
	group    = "web"
	groupVMs = 12
	// second is the VCenter of the other group.
	second      = "second"
	secondGroup = "db"
	secondVMs   = 3
	// vcenters are those of the world.
	vcenters = 2
	// buckets are those of all groups.
	buckets    = 128
	cloneDelay = 50 * time.Millisecond
	// patience is the timeout of each wait.
	patience = 4 * time.Minute
)

// world is a hub with two replicas, a member with two groups, and two vCenters: a separate process, and one that
// serves https in this process, with more controls.
type world struct {
	*stack.Stack
	second *sim.Simulator
	// vms is the number of wanted VMs in all groups.
	vms float64
	// release resumes the hanging task.
	release func()
	// watch, if not nil, is called repeatedly during each wait.
	watch func(context.Context)
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// newWorld starts a world with this many VMs in the first group, and waits until all run.
func newWorld(t *testing.T, vms int32, change ...func(*v1alpha1.VmGroupSpec)) *world {
	t.Helper()
	stack.Story(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	s, err := stack.Start(ctx, stack.Options{
		Members: []string{member}, Replicas: 2, ProxyAPI: true, Admission: true,
		Sim: sim.Options{Templates: []string{template, newer}, CloneDelay: cloneDelay},
		VCenter: func(s *v1alpha1.VCenterSpec) {
			s.Limits = v1alpha1.VCenterLimits{Tasks: 16, TasksPerHost: 16}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Stack: s, vms: float64(vms + secondVMs)}
	t.Cleanup(func() {
		if t.Failed() {
			fmt.Fprintln(os.Stderr, w.LastWords(20))
		}
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := w.Members[member].Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	object := &v1alpha1.MemberCluster{}
	w.until(t, "the member to be joined", func(ctx context.Context) (bool, error) {
		err := w.Hub.Get(ctx, types.NamespacedName{Name: member}, object)
		return stack.IsReady(object.Status.Conditions), err
	})
	w.startSecond(t)
	w.apply(t, group, vms, change...)
	w.apply(t, secondGroup, secondVMs, func(s *v1alpha1.VmGroupSpec) { s.VCenter = second })
	w.running(t, group, vms)
	w.running(t, secondGroup, secondVMs)
	return w
}

func (w *world) startSecond(t *testing.T) {
	t.Helper()
	var err error
	w.second, err = sim.Start(sim.Options{Username: stack.Username, Password: stack.Password, TLS: true, InstanceUUID: "5ec0d000-0000-4000-8000-000000000002"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.second.Close)
	vcenter := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: second}}
	standard := &v1alpha1.VCenter{}
	if err := w.Hub.Get(t.Context(), types.NamespacedName{Name: "default"}, standard); err != nil {
		t.Fatal(err)
	}
	vcenter.Spec = *standard.Spec.DeepCopy()
	vcenter.Spec.Server, vcenter.Spec.TLS = w.second.URL, &v1alpha1.TLSConfig{CABundle: string(w.second.CA)}
	if err := w.Hub.Create(t.Context(), vcenter); err != nil {
		t.Fatal(err)
	}
}

func (w *world) until(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := await.Condition(ctx, what, func(ctx context.Context) (bool, error) {
		if w.watch != nil {
			w.watch(ctx)
		}
		return condition(ctx)
	}); err != nil {
		t.Fatal(err)
	}
}

// apply creates a group of the member.
func (w *world) apply(t *testing.T, name string, replicas int32, change ...func(*v1alpha1.VmGroupSpec)) {
	t.Helper()
	g := &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &replicas},
	}
	for _, c := range change {
		c(&g.Spec)
	}
	if err := w.Members[member].Create(t.Context(), g); err != nil {
		t.Fatal(err)
	}
}

func (w *world) remove(t *testing.T, name string) {
	t.Helper()
	g := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := w.Members[member].Delete(t.Context(), g); err != nil {
		t.Fatal(err)
	}
}

func (w *world) running(t *testing.T, name string, vms int32) {
	t.Helper()
	g := &v1alpha1.VmGroup{}
	w.until(t, "VmGroup "+name+" to run", func(ctx context.Context) (bool, error) {
		err := w.Members[member].Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, g)
		return g.Status.ReadyReplicas == vms && stack.IsReady(g.Status.Conditions), err
	})
}
