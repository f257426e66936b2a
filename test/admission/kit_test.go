//go:build unix

package admission

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// patience is the timeout of each wait, long enough for a busy machine.
const patience = 3 * time.Minute

// untilAdmissionReady waits for the condition AdmissionReady=True of a MemberCluster with every layer in place.
func untilAdmissionReady(ctx context.Context, member string) error {
	mc := &v1alpha1.MemberCluster{}
	err := await.Condition(ctx, "admission of "+member, func(ctx context.Context) (bool, error) {
		err := world.Hub.Get(ctx, client.ObjectKey{Name: member}, mc)
		c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionAdmissionReady)
		return c != nil && c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonAdmissionInstalled && mc.Status.CABundleHash != "", err
	})
	if err != nil {
		return fmt.Errorf("%w; status: %+v", err, mc.Status)
	}
	if cluster := world.Members[member]; cluster != nil {
		return untilGroupsAreServed(ctx, cluster)
	}
	return nil
}

// untilGroupsAreServed waits until the cluster's API server applies its policies to VmGroups, and has the mutating
// policy if it supports such policies: that takes some seconds after the CRD.
func untilGroupsAreServed(ctx context.Context, cluster *stack.Cluster) error {
	binding := &unstructured.Unstructured{}
	binding.SetAPIVersion("admissionregistration.k8s.io/v1")
	binding.SetKind("MutatingAdmissionPolicyBinding")
	if err := await.Condition(ctx, "defaults in "+cluster.Name, func(ctx context.Context) (bool, error) {
		err := cluster.Get(ctx, client.ObjectKey{Name: "vmgroup-operator"}, binding)
		if meta.IsNoMatchError(err) {
			return true, nil
		}
		return err == nil, client.IgnoreNotFound(err)
	}); err != nil {
		return err
	}
	probe := &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "probe"},
		Spec:       v1alpha1.VmGroupSpec{CPU: 768, Memory: 1, Template: template},
	}
	return await.Condition(ctx, "VmGroups to be served by "+cluster.Name, func(ctx context.Context) (bool, error) {
		err := cluster.Create(ctx, probe.DeepCopy(), client.DryRunAll)
		if refusedByPolicies(err) {
			return true, nil
		}
		return false, err
	})
}

// place is a namespace of a member for a single test.
type place struct {
	*stack.Cluster
	t         *testing.T
	member    string
	namespace string
}

// newPlace creates a namespace with labels. It is deleted with its groups at the end of the test.
func newPlace(t *testing.T, member, namespace string, labels map[string]string) *place {
	t.Helper()
	p := &place{Cluster: world.Members[member], t: t, member: member, namespace: namespace}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: labels}}
	if err := p.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.clear)
	return p
}

// clear deletes the groups and waits for that: here, no controller deletes the contents of namespaces.
func (p *place) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := await.Condition(ctx, "the groups of "+p.namespace+" to go", func(ctx context.Context) (bool, error) {
		var list v1alpha1.VmGroupList
		if err := p.List(ctx, &list, client.InNamespace(p.namespace)); err != nil {
			return false, err
		}
		for i := range list.Items {
			if err := p.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
				return false, err
			}
		}
		return len(list.Items) == 0, nil
	}); err != nil {
		p.t.Error(err)
	}
}

// group returns a group of the place; change can be nil.
func (p *place) group(name string, replicas int32, change ...func(*v1alpha1.VmGroup)) *v1alpha1.VmGroup {
	g := &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name},
		Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &replicas},
	}
	for _, c := range change {
		c(g)
	}
	return g
}

func (p *place) get(name string) *v1alpha1.VmGroup {
	p.t.Helper()
	g := &v1alpha1.VmGroup{}
	if err := p.Get(p.t.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, g); err != nil {
		p.t.Fatal(err)
	}
	return g
}

// refused fails unless err is a rejection for an actionable reason, and contains these words.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want a refusal", err)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the refusal %q does not say %q", err, w)
		}
	}
}

// clientAs is a client of a user with all permissions, under a separate name.
func clientAs(t *testing.T, cluster *stack.Cluster, username string) client.Client {
	t.Helper()
	config := rest.CopyConfig(cluster.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: username, Groups: []string{"system:masters"}}
	return clientWith(t, cluster, config)
}

func clientWith(t *testing.T, cluster *stack.Cluster, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{Scheme: cluster.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// scale does the same as kubectl scale and autoscalers. dryRun can be empty.
func scale(ctx context.Context, c client.Client, namespace, name string, replicas int32, dryRun ...string) error {
	group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	body := &autoscalingv1.Scale{}
	if err := c.SubResource("scale").Get(ctx, group, body); err != nil {
		return fmt.Errorf("read the scale: %w", err)
	}
	body.Spec.Replicas = replicas
	return c.SubResource("scale").Update(ctx, group, client.WithSubResourceBody(body),
		&client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{DryRun: dryRun}})
}

// servesMutatingPolicies reports whether the cluster's API server supports the mutating admission policy that fills in
// defaults without the hub: versions before 1.36 do not.
func servesMutatingPolicies(t *testing.T, cluster *stack.Cluster) bool {
	t.Helper()
	err := cluster.Get(t.Context(), client.ObjectKey{Name: objects.Name}, &admissionregistrationv1.MutatingAdmissionPolicy{})
	if err != nil && !isGone(err) {
		t.Fatal(err)
	}
	return err == nil
}

// isGone reports whether no such object, or no such kind, exists.
func isGone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// collector keeps the warnings of an API server.
type collector struct {
	mu   sync.Mutex
	list []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (c *collector) HandleWarningHeader(_ int, _ string, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, text)
}

// take returns the warnings since the last call.
func (c *collector) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.list
	c.list = nil
	return list
}

// warningClient is a client whose warnings are collected.
func warningClient(t *testing.T, cluster *stack.Cluster) (client.Client, *collector) {
	t.Helper()
	warned := &collector{}
	config := rest.CopyConfig(cluster.Config)
	config.WarningHandler = warned
	return clientWith(t, cluster, config), warned
}

// newVCenter creates a VCenter like the default one, with a separate root folder, for the duration of the test.
func newVCenter(t *testing.T, name string, change func(*v1alpha1.VCenterSpec)) *v1alpha1.VCenter {
	t.Helper()
	standard := &v1alpha1.VCenter{}
	if err := world.Hub.Get(t.Context(), client.ObjectKey{Name: "default"}, standard); err != nil {
		t.Fatal(err)
	}
	vcenter := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *standard.Spec.DeepCopy()}
	vcenter.Spec.Folder = name
	if change != nil {
		change(&vcenter.Spec)
	}
	if err := world.Hub.Create(t.Context(), vcenter); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := world.Hub.Delete(context.Background(), vcenter); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	return vcenter
}

func untilVCenterReady(t *testing.T, name string) {
	t.Helper()
	vcenter := &v1alpha1.VCenter{}
	await.Until(t, "VCenter "+name, func(ctx context.Context) (bool, error) {
		err := world.Hub.Get(ctx, client.ObjectKey{Name: name}, vcenter)
		return stack.IsReady(vcenter.Status.Conditions), err
	})
}

// every calls f until ctx ends.
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
