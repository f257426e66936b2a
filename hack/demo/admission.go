//go:build unix

package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/certmanager"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// policyName is the VmGroupPolicy of the demo.
const policyName = "teams"

// turnOn installs the prerequisites of webhooks in the hub. It replaces the replicas one at a time, because their flags change.
func (d *demo) turnOn(ctx context.Context) error {
	began := time.Now()
	if err := d.stack.StartAdmission(ctx); err != nil {
		return err
	}
	d.note("cert-manager runs on the hub and has issued the webhooks' certificate after %s.", since(began))
	for _, old := range slices.Clone(d.stack.Replicas) {
		if err := old.Remove(); err != nil {
			return err
		}
		replica, err := d.stack.AddReplica(ctx, old.Name)
		if err != nil {
			return err
		}
		if err := await.Condition(ctx, replica.Name+" to be ready", func(ctx context.Context) (bool, error) {
			return replica.Ready(ctx), nil
		}); err != nil {
			return err
		}
	}
	if err := d.guarded(ctx); err != nil {
		return err
	}
	d.note("Policies and webhooks are in both members after %s.", since(began))
	return d.exactly(ctx, 12)
}

// refuse creates a policy on the hub and a group in a member that violates it.
func (d *demo) refuse(ctx context.Context) error {
	atMost, memory := int32(4), v1alpha1.Amount("8Gi")
	policy := &v1alpha1.VmGroupPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: policyName},
		Spec: v1alpha1.VmGroupPolicySpec{
			Match: v1alpha1.PolicyMatch{MemberClusters: []string{"team-*"}},
			Limits: &v1alpha1.PolicyLimits{
				CPU: &v1alpha1.CountRange{Max: &atMost}, Memory: &v1alpha1.AmountRange{Max: &memory},
			},
			Templates: &v1alpha1.PolicyTemplates{Allow: []string{"vm-operator-*", "debian-*"}},
			Defaults:  &v1alpha1.PolicyDefaults{CPU: 1, Memory: 2, Template: "debian-12"},
		},
	}
	began := time.Now()
	if err := d.stack.Hub.Create(ctx, policy); err != nil {
		return fmt.Errorf("apply VmGroupPolicy %s: %w", policyName, err)
	}
	for name, member := range d.stack.Members {
		if err := await.Condition(ctx, "the limits of "+name, func(ctx context.Context) (bool, error) {
			limits := &v1alpha1.VmGroupLimits{}
			err := member.Get(ctx, client.ObjectKey{Name: v1alpha1.LimitsName}, limits)
			return err == nil && len(limits.Spec.Policies) == 1, err
		}); err != nil {
			return err
		}
		if err := inForce(ctx, name, member); err != nil {
			return err
		}
	}
	d.note("VmGroupPolicy %s holds in both members after %s.", policyName, since(began))
	return d.refused(ctx, "with 16 CPUs and another template", v1alpha1.VmGroupSpec{CPU: 16, Memory: 1, Template: "windows-11"}, tooManyCPUs)
}

// tooManyCPUs is the message for a group with more CPUs than the policy allows.
const tooManyCPUs = `exceeds the maximum 4 of VmGroupPolicy "teams"`

// inForce waits until a member enforces the policy. Its API server loads limits after they are stored, and loads defaults separately. A
// group without memory and template reaches the check of the maximum only after the defaults are set.
func inForce(ctx context.Context, name string, member *stack.Cluster) error {
	return await.Condition(ctx, "policies in force in "+name, func(ctx context.Context) (bool, error) {
		err := member.Create(ctx, sparse("probe", map[string]any{"replicas": int64(1), "cpu": int64(16)}), client.DryRunAll)
		if err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy") && strings.Contains(err.Error(), tooManyCPUs) {
			return true, nil
		}
		return false, err
	})
}

// sparse returns a group with only this spec.
func sparse(name string, spec map[string]any) *unstructured.Unstructured {
	group := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	group.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
	group.SetNamespace("default")
	group.SetName(name)
	return group
}

// guarded waits until policies and webhooks are installed in both members.
func (d *demo) guarded(ctx context.Context) error {
	for name := range d.stack.Members {
		member := &v1alpha1.MemberCluster{}
		if err := await.Condition(ctx, "admission of "+name, func(ctx context.Context) (bool, error) {
			err := d.stack.Hub.Get(ctx, client.ObjectKey{Name: name}, member)
			ready := meta.IsStatusConditionTrue(member.Status.Conditions, v1alpha1.ConditionAdmissionReady)
			return ready && member.Status.CABundleHash != "", err
		}); err != nil {
			return err
		}
	}
	return nil
}

// refused creates a group in team-a. The refusal must contain these words.
func (d *demo) refused(ctx context.Context, what string, spec v1alpha1.VmGroupSpec, words string) error {
	err := d.stack.Members["team-a"].Create(ctx, &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "greedy"}, Spec: spec,
	})
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), words) {
		return fmt.Errorf("a group %s: got %w, want a refusal that says %q", what, err, words)
	}
	d.note("A group %s is refused: %s", what, err)
	return nil
}

// fillIn creates a group with one field. The policy's defaults set the others.
func (d *demo) fillIn(ctx context.Context) error {
	member := d.stack.Members["team-b"]
	if err := member.Create(ctx, sparse("small", map[string]any{"replicas": int64(1)})); err != nil {
		return fmt.Errorf("apply a group without cpu, memory and template: %w", err)
	}
	small, err := d.group(ctx, "team-b", "small", func(g *v1alpha1.VmGroup) bool { return g.Status.ReadyReplicas == 1 })
	if err != nil {
		return err
	}
	d.note("Stored with cpu %d, memory %d, template %s, and its VM runs.", small.Spec.CPU, small.Spec.Memory, small.Spec.Template)
	if err := member.Delete(ctx, small); err != nil {
		return err
	}
	return await.Condition(ctx, "group small to be gone", func(ctx context.Context) (bool, error) {
		err := member.Get(ctx, client.ObjectKeyFromObject(small), small)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// warnings collects the warnings of an API server.
type warnings struct {
	mu  sync.Mutex
	all []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

// forecast makes a dry run of an edit.
func (d *demo) forecast(ctx context.Context) error {
	config, heard := rest.CopyConfig(d.stack.Members["team-a"].Config), &warnings{}
	config.WarningHandler = heard
	c, err := client.New(config, client.Options{Scheme: d.stack.Members["team-a"].Scheme()})
	if err != nil {
		return err
	}
	group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "vg-1"}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":7}}`))
	if err := c.Patch(ctx, group, patch, client.DryRunAll); err != nil {
		return err
	}
	for _, warning := range heard.all {
		d.note("kubectl apply --dry-run=server warns: %s", warning)
	}
	if !strings.Contains(strings.Join(heard.all, "\n"), "adds 2 VMs") {
		return fmt.Errorf("the warnings %q do not say that 2 VMs are added", heard.all)
	}
	return nil
}

// rotate renews the certificate authority and the webhooks' certificate at the same time, while both members call the webhooks.
func (d *demo) rotate(ctx context.Context) error {
	for name := range d.stack.Members {
		// With policy Fail, a failed call fails the request, so that the demo detects it.
		if err := d.onFailure(ctx, name, v1alpha1.AdmissionFail); err != nil {
			return err
		}
	}
	before, err := d.served(ctx)
	if err != nil {
		return err
	}
	load, stop := context.WithCancel(ctx)
	defer stop()
	calls := &tally{}
	var callers sync.WaitGroup
	for _, member := range d.stack.Members {
		callers.Go(func() { calls.run(load, member) })
	}
	began := time.Now()
	for _, name := range []string{stack.CACertificate, stack.WebhookCertificate} {
		if err := certmanager.Renew(ctx, d.stack.Hub.Client, stack.Namespace, name); err != nil {
			return err
		}
	}
	err = await.Condition(ctx, "the webhooks to serve the new certificate", func(ctx context.Context) (bool, error) {
		now, err := d.served(ctx)
		return err == nil && now != before, err
	})
	took := since(began)
	stop()
	callers.Wait()
	if err != nil {
		return err
	}
	d.note("Both members trusted the new authority before its certificate was served, %s after the renewal.", took)
	d.note("%d calls meanwhile, %d failed.", calls.made, len(calls.failed))
	if len(calls.failed) > 0 {
		return fmt.Errorf("calls failed in the rotation, the first with: %w", calls.failed[0])
	}
	for name := range d.stack.Members {
		if err := d.onFailure(ctx, name, v1alpha1.AdmissionIgnore); err != nil {
			return err
		}
	}
	return nil
}

// tally counts calls of the webhooks.
type tally struct {
	mu     sync.Mutex
	made   int
	failed []error
}

// run sends dry-run requests for a group until ctx ends. The member calls the webhooks for each.
func (t *tally) run(ctx context.Context, member *stack.Cluster) {
	for ctx.Err() == nil {
		err := member.Create(ctx, &v1alpha1.VmGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"},
			Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "debian-12"},
		}, client.DryRunAll)
		if ctx.Err() == nil {
			t.count(err)
		}
	}
}

func (t *tally) count(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made++
	if err != nil {
		t.failed = append(t.failed, err)
	}
}

// onFailure sets a member's failure policy for the webhooks, and waits until it takes effect.
func (d *demo) onFailure(ctx context.Context, member string, policy v1alpha1.AdmissionFailurePolicy) error {
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: member}}
	patch := fmt.Sprintf(`{"spec":{"admission":{"failurePolicy":%q}}}`, policy)
	if err := d.stack.Hub.Patch(ctx, mc, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		return err
	}
	configuration := &unstructured.Unstructured{}
	configuration.SetAPIVersion("admissionregistration.k8s.io/v1")
	configuration.SetKind("ValidatingWebhookConfiguration")
	return await.Condition(ctx, "the webhook configuration of "+member, func(ctx context.Context) (bool, error) {
		err := d.stack.Members[member].Get(ctx, client.ObjectKey{Name: "vmgroup-operator"}, configuration)
		webhooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
		if len(webhooks) == 0 {
			return false, err
		}
		return webhooks[0].(map[string]any)["failurePolicy"] == string(policy), err
	})
}

// served returns the fingerprint of the certificate that the webhooks serve.
func (d *demo) served(ctx context.Context) (string, error) {
	address := strings.TrimPrefix(d.stack.Admission.URL, "https://")
	// The demo only reads the certificate and does not trust it.
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	sum := sha256.Sum256(conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw)
	return hex.EncodeToString(sum[:]), nil
}

// withoutHub stops the last replica and shows which rules stay in effect.
func (d *demo) withoutHub(ctx context.Context) error {
	last := d.stack.Replicas[len(d.stack.Replicas)-1]
	if err := last.Stop(); err != nil {
		return err
	}
	if err := d.refused(ctx, "with 16 CPUs", v1alpha1.VmGroupSpec{CPU: 16, Memory: 1, Template: "debian-12"},
		"spec.cpu: Invalid value: 16: "+tooManyCPUs); err != nil {
		return err
	}
	replicas := int32(1)
	if err := d.createGroup(ctx, "team-a", &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "patient"},
		Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "debian-12", Replicas: &replicas},
	}); err != nil {
		return err
	}
	d.note("A group that policy allows is accepted, and waits.")
	if err := last.Restart(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := d.running(ctx, "team-a", "patient", 1); err != nil {
		return err
	}
	d.note("The operator is started again; the group's VM runs %s later.", since(began))
	return nil
}
