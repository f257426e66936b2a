//go:build unix

package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// TestTableHoldsAlsoWhileTheHubIsDown runs the table of policies against the full admission of a member: policies and
// the webhooks of two replicas. Then it runs the table without the hub. In that time, teams continue to work in two
// members: one whose webhooks fail open, and one whose webhooks fail closed.
func TestTableHoldsAlsoWhileTheHubIsDown(t *testing.T) {
	stack.Story(t)
	s := stageTable(t)
	setFailurePolicy(t, "team-b", v1alpha1.AdmissionFail)
	ignore, fail := newDownPlace(t, "team-a"), newDownPlace(t, "team-b")
	limitDownPlaces(t, ignore, fail)
	t.Run("table with the hub", func(t *testing.T) { s.run(t, true) })

	start := stopHub(t)
	t.Run("table without the hub", func(t *testing.T) { s.run(t, false) })
	t.Run("Ignore", func(t *testing.T) { ignore.on(t).workOn() })
	t.Run("Fail", func(t *testing.T) { fail.on(t).waitOrGo() })
	told := leakOf(t, "team-b", fail.Create(t.Context(), fail.group("leaked", 1)))

	start()
	s.marker.known()
	t.Run("what was done meanwhile", func(t *testing.T) {
		ignore.on(t).caughtUp("small")
		setFailurePolicy(t, "team-b", v1alpha1.AdmissionIgnore)
		if err := fail.Create(t.Context(), fail.group("small", 1)); err != nil {
			t.Errorf("with the hub: %v", err)
		}
		fail.on(t).caughtUp("small")
	})
	t.Run("the path in an error", func(t *testing.T) {
		told.tried(t, fail.on(t).place, ignore.on(t).untilRunning("small", 1))
	})
}

// stopHub ends all replicas like a kubelet. start starts them again, with extra flags until their next start; the end
// of the test does so if the test did not.
func stopHub(t *testing.T) (start func(flags ...string)) {
	t.Helper()
	down := true
	start = func(flags ...string) {
		t.Helper()
		if !down {
			return
		}
		down = false
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for _, r := range world.Replicas {
			if err := r.Restart(ctx, flags...); err != nil {
				t.Fatal(err)
			}
		}
		if err := await.Condition(ctx, "all replicas to be ready", func(ctx context.Context) (bool, error) {
			for _, r := range world.Replicas {
				if !r.Ready(ctx) {
					return false, nil
				}
			}
			return true, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { start() })
	for _, r := range world.Replicas {
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	return start
}

// setFailurePolicy sets the fate of requests in a member whose webhooks do not respond. It returns once the policy is
// effective.
func setFailurePolicy(t *testing.T, member string, policy v1alpha1.AdmissionFailurePolicy) {
	t.Helper()
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: member}}
	patch := []byte(`{"spec": {"admission": {"failurePolicy": "` + string(policy) + `"}}}`)
	if err := world.Hub.Patch(t.Context(), mc, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		restore := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"admission": null}}`))
		if err := world.Hub.Patch(context.Background(), mc, restore); err != nil {
			t.Error(err)
		}
	})
	await.Until(t, "the webhooks of "+member+" to have failurePolicy "+string(policy), func(ctx context.Context) (bool, error) {
		mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
		if err := world.Members[member].Get(ctx, client.ObjectKey{Name: objects.Name}, mutating); err != nil {
			return false, err
		}
		validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := world.Members[member].Get(ctx, client.ObjectKey{Name: objects.Name}, validating); err != nil {
			return false, err
		}
		return string(*mutating.Webhooks[0].FailurePolicy) == string(policy) &&
			string(*validating.Webhooks[0].FailurePolicy) == string(policy), nil
	})
}

// downPlace is a namespace with groups older than its policy: "wide" and "going" violate it, "tame" does not.
type downPlace struct{ *place }

const downLabel = "example.com/down"

func newDownPlace(t *testing.T, member string) downPlace {
	t.Helper()
	p := downPlace{newPlace(t, member, "table-down", map[string]string{downLabel: "yes", tableLabel: "down"})}
	open := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "table-down"}}
	open.Spec.Match.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{downLabel: "yes"}}
	open.Spec.Limits = anything()
	if err := world.Hub.Create(t.Context(), open); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]map[string]any{
		"wide":  {"cpu": int64(16), "memory": int64(2), "template": template, "replicas": int64(500)},
		"going": {"cpu": int64(16), "memory": int64(2), "template": template, "replicas": int64(2)},
		"tame":  {"cpu": int64(2), "memory": int64(2), "template": template, "replicas": int64(3)},
	} {
		group := raw(p.namespace, name, spec)
		group.SetAnnotations(map[string]string{v1alpha1.PausedAnnotation: "true"})
		group.SetFinalizers([]string{keepFinalizer})
		await.Until(t, "group "+name, func(ctx context.Context) (bool, error) {
			err := p.Create(ctx, group.DeepCopy())
			return err == nil, err
		})
		t.Cleanup(func() { removePaused(t, member, group) })
	}
	return p
}

// limitDownPlaces tightens the policy, and waits until the API servers enforce it.
func limitDownPlaces(t *testing.T, places ...downPlace) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec": {
		"limits": {"cpu": {"max": 4}, "replicas": {"max": 400}}, "templates": {"deny": ["windows-*"]}, "defaults": {"cpu": 2}}}`))
	policy := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "table-down"}}
	if err := world.Hub.Patch(t.Context(), policy, patch); err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		await.Until(t, "the policy to hold in "+p.member, func(ctx context.Context) (bool, error) {
			err := p.Create(ctx, p.group("probe", 1, func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 }), client.DryRunAll)
			if refusedByPolicies(err) {
				return true, nil
			}
			return false, fmt.Errorf("it does not: %w", err)
		})
	}
}

// refusedByPolicies reports whether a member's admission policies, and not the hub's webhook, have rejected a group.
func refusedByPolicies(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}

// on is the place for a subtest.
func (p downPlace) on(t *testing.T) downPlace {
	own := *p.place
	own.t = t
	return downPlace{&own}
}

// workOn is a team's work in a member whose webhooks are skipped while they do not respond.
func (p downPlace) workOn() {
	t, ctx := p.t, p.t.Context()
	refused(t, p.Create(ctx, p.group("large", 1, func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 })),
		`spec.cpu: Invalid value: 16: exceeds the maximum 4 of VmGroupPolicy "table-down"`)
	refused(t, p.Create(ctx, p.group("windows", 1, func(g *v1alpha1.VmGroup) { g.Spec.Template = "windows-11" })),
		`spec.template: Invalid value: "windows-11": is denied by VmGroupPolicy "table-down": windows-*`)
	refused(t, scale(ctx, p, p.namespace, "tame", 401),
		`spec.replicas: Invalid value: 401: exceeds the maximum 400 of VmGroupPolicy "table-down"`)
	refused(t, scale(ctx, p, p.namespace, "tame", 900), "spec.replicas: Invalid value: 900")
	refused(t, p.patch("wide", `{"spec": {"cpu": 17}}`), "spec.cpu: Invalid value: 17: exceeds the maximum 4")
	small := raw(p.namespace, "small", map[string]any{"memory": int64(1), "template": template})
	if !servesMutatingPolicies(t, p.Cluster) {
		refused(t, p.Create(ctx, small.DeepCopy()), "spec.cpu")
		small.Object["spec"].(map[string]any)["cpu"] = int64(2)
	}
	if err := p.Create(ctx, small); err != nil {
		t.Errorf("a group that is allowed: %v", err)
	} else if cpu := small.Object["spec"].(map[string]any)["cpu"]; cpu != int64(2) {
		t.Errorf("spec.cpu is %v, want the default 2", cpu)
	}
	passes(t, "scaling down what is still too much", scale(ctx, p, p.namespace, "wide", 450))
	passes(t, "scaling down to what is allowed", scale(ctx, p, p.namespace, "wide", 7))
	p.letGo()
}

// waitOrGo is a team's work in a member that accepts nothing new without the hub.
func (p downPlace) waitOrGo() {
	t, ctx := p.t, p.t.Context()
	for what, err := range map[string]error{
		"creation": p.Create(ctx, p.group("small", 1)),
		"change":   p.patch("tame", `{"spec": {"cpu": 3}}`),
		"scaling":  scale(ctx, p, p.namespace, "tame", 4),
	} {
		if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "failed calling webhook") ||
			!strings.Contains(err.Error(), v1alpha1.GroupVersion.Group) {
			t.Errorf("%s: got %v, want a refusal that names the webhook", what, err)
		}
	}
	if err := p.Create(ctx, p.group("large", 1, func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 })); err == nil {
		t.Error("a group that is too large was created")
	}
	p.letGo()
}

// letGo covers the edits that must always be possible, even for groups that violate a policy.
func (p downPlace) letGo() {
	t, ctx := p.t, p.t.Context()
	passes(t, "an edit of labels", p.patch("wide", `{"metadata": {"labels": {"example.com/owner": "a-user"}}}`))
	passes(t, "the removal of a finalizer", p.patch("wide", `{"metadata": {"finalizers": ["`+v1alpha1.VmGroupFinalizer+`"]}}`))
	passes(t, "deletion", p.Delete(ctx, p.group("going", 0)))
	passes(t, "the removal of all finalizers but the operator's from a group that goes",
		p.patch("going", `{"metadata": {"finalizers": ["`+v1alpha1.VmGroupFinalizer+`"], "annotations": null}}`))
	going := &v1alpha1.VmGroup{}
	err := p.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: "going"}, going)
	if err != nil || going.DeletionTimestamp == nil {
		t.Errorf("the group that goes: deleted at %v, %v", going.DeletionTimestamp, err)
	}
}

// caughtUp waits until the operator has processed the requests made while it was down.
func (p downPlace) caughtUp(running string) {
	p.t.Helper()
	await.Until(p.t, "the group that was deleted to go from "+p.member, func(ctx context.Context) (bool, error) {
		err := p.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: "going"}, &v1alpha1.VmGroup{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	await.Until(p.t, "the new group to run in "+p.member, func(ctx context.Context) (bool, error) {
		group := &v1alpha1.VmGroup{}
		err := p.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: running}, group)
		return group.Status.Phase == v1alpha1.PhaseRunning, err
	})
}

func (p *place) patch(name, patch string) error {
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	return p.Patch(ctx, p.group(name, 0), client.RawPatch(types.MergePatchType, []byte(patch)))
}

func passes(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}
