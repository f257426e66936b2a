//go:build unix && slow

package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/certmanager"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// leastCalls is the minimum number of calls of each member while certificates are renewed once.
const leastCalls = 250

func TestRotationOfEverythingUnderLoadFailsNoCall(t *testing.T) {
	stack.Story(t)
	callsMustSucceed(t)
	load := startLoad(t)
	for round := range 3 {
		before := load.calls()
		renewed := renew(t)
		if round == 2 {
			restart(t, world.Replicas[0])
		}
		untilServed(t, renewed)
		load.untilMore(before, leastCalls)
		t.Logf("rotation %d: %v calls", round+1, load.since(before))
	}
	authority := untilOneAuthority(t)
	load.stop()
	for name := range world.Members {
		if got := memberCluster(t, name).Status.CABundleHash; got != trust.BundleHash([]trust.Authority{authority}) {
			t.Errorf("%s acknowledges %s, which is not the bundle of the one authority", name, got)
		}
	}
}

func TestAMemberThatIsAwayDuringARotationIsWaitedForAndComesBackWorking(t *testing.T) {
	stack.Story(t)
	callsMustSucceed(t)
	load := startLoad(t)
	member := world.Members["team-b"]
	member.Proxy.Hook(func(localcluster.APICall) faultproxy.Fault { return faultproxy.Fault{Act: faultproxy.CutBefore} })
	back := func() { member.Proxy.Hook(nil) }
	t.Cleanup(back)
	member.Proxy.CutConnections()
	await.Until(t, "team-b to be reported as unreachable", func(ctx context.Context) (bool, error) {
		mc := &v1alpha1.MemberCluster{}
		err := world.Hub.Get(ctx, client.ObjectKey{Name: "team-b"}, mc)
		return meta.IsStatusConditionFalse(mc.Status.Conditions, v1alpha1.ConditionReady), err
	})
	served := admissionSecret(t).Data[trust.KeyServedCert]
	renewed := renew(t)
	await.Until(t, "team-b to be reported as behind", func(ctx context.Context) (bool, error) {
		mc := &v1alpha1.MemberCluster{}
		err := world.Hub.Get(ctx, client.ObjectKey{Name: "team-b"}, mc)
		c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionAdmissionReady)
		return c != nil && c.Reason == v1alpha1.ReasonCABundleBehind, err
	})
	await.Until(t, "an event that says so", func(ctx context.Context) (bool, error) {
		return saysBehind(ctx, "team-b")
	})
	// The event comes after the overlap, which lasts several times as long as the switch takes if all members are
	// reachable.
	if string(admissionSecret(t).Data[trust.KeyServedCert]) != string(served) {
		t.Error("the certificate was switched although a member does not know its authority")
	}
	if err := untilAdmissionReady(t.Context(), "team-a"); err != nil {
		t.Error(err)
	}
	back()
	untilServed(t, renewed)
	load.untilMore(load.calls(), 100)
	untilOneAuthority(t)
	load.stop()
	if err := untilAdmissionReady(t.Context(), "team-b"); err != nil {
		t.Error(err)
	}
}

// callsMustSucceed makes both members reject requests if they cannot reach the hub, so that a failed call is visible.
func callsMustSucceed(t *testing.T) {
	t.Helper()
	mindFailedCalls(t.Context(), t, v1alpha1.AdmissionFail)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		mindFailedCalls(ctx, t, v1alpha1.AdmissionIgnore)
	})
}

func mindFailedCalls(ctx context.Context, t *testing.T, policy v1alpha1.AdmissionFailurePolicy) {
	t.Helper()
	for name, cluster := range world.Members {
		mc := &v1alpha1.MemberCluster{}
		err := world.Hub.Get(ctx, client.ObjectKey{Name: name}, mc)
		if err == nil {
			base := mc.DeepCopy()
			mc.Spec.Admission = &v1alpha1.MemberAdmission{FailurePolicy: policy}
			err = world.Hub.Patch(ctx, mc, client.MergeFrom(base))
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := await.Condition(ctx, fmt.Sprintf("failure policy %s in %s", policy, name), func(ctx context.Context) (bool, error) {
			hook, err := operatorsWebhook(ctx, cluster)
			return err == nil && string(*hook.FailurePolicy) == string(policy), err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func memberCluster(t *testing.T, name string) *v1alpha1.MemberCluster {
	t.Helper()
	mc := &v1alpha1.MemberCluster{}
	if err := world.Hub.Get(t.Context(), client.ObjectKey{Name: name}, mc); err != nil {
		t.Fatal(err)
	}
	return mc
}

// admissionSecret is where the leading replica stores the certificate that all serve.
func admissionSecret(t *testing.T) *corev1.Secret { t.Helper(); return hubSecret(t, trust.SecretName) }

func hubSecret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := world.Hub.Get(t.Context(), client.ObjectKey{Namespace: stack.Namespace, Name: name}, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// renew renews authority and serving certificate at once, and returns the new serving certificate.
func renew(t *testing.T) *trust.Leaf {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	names := []string{stack.CACertificate, stack.WebhookCertificate}
	wanted := map[string]int64{}
	for _, name := range names {
		revision, err := certmanager.Revision(ctx, world.Hub, stack.Namespace, name)
		if err != nil {
			t.Fatal(err)
		}
		wanted[name] = revision + 1
	}
	for _, name := range names {
		if err := certmanager.Renew(ctx, world.Hub, stack.Namespace, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		if err := certmanager.WaitRevision(ctx, world.Hub, stack.Namespace, name, wanted[name]); err != nil {
			t.Fatal(err)
		}
	}
	// cert-manager can have signed it with the previous authority. That does no harm, but tests nothing.
	for signedBefore(t) {
		wanted[stack.WebhookCertificate]++
		if err := certmanager.Renew(ctx, world.Hub, stack.Namespace, stack.WebhookCertificate); err != nil {
			t.Fatal(err)
		}
		if err := certmanager.WaitRevision(ctx, world.Hub, stack.Namespace, stack.WebhookCertificate, wanted[stack.WebhookCertificate]); err != nil {
			t.Fatal(err)
		}
	}
	return mountedLeaf(t)
}

// mountedLeaf is the serving certificate that cert-manager issued last.
func mountedLeaf(t *testing.T) *trust.Leaf {
	t.Helper()
	data := hubSecret(t, stack.WebhookCertificate+"-tls").Data
	leaf, err := trust.ParseLeaf(trust.Pair{Certificate: data[corev1.TLSCertKey], Key: data[corev1.TLSPrivateKeyKey]})
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func signedBefore(t *testing.T) bool {
	t.Helper()
	leaf := mountedLeaf(t)
	leaf.FindSigners(currentAuthority(t))
	return len(leaf.Signers) == 0
}

func currentAuthority(t *testing.T) []trust.Authority {
	t.Helper()
	all := trust.ParseAuthorities(hubSecret(t, stack.CACertificate).Data[corev1.TLSCertKey])
	if len(all) != 1 {
		t.Fatalf("cert-manager has %d authorities, want one", len(all))
	}
	return all
}

// untilServed waits until the leader has chosen a leaf, and every replica serves it.
func untilServed(t *testing.T, leaf *trust.Leaf) {
	t.Helper()
	await.Until(t, "the new certificate to be served by all", func(ctx context.Context) (bool, error) {
		served, err := trust.ServedOf(admissionSecret(t).Data)
		if err != nil || served.Fingerprint != leaf.Fingerprint {
			return false, err
		}
		for _, r := range world.Replicas {
			shown, err := shownBy(ctx, r)
			if err != nil || shown != leaf.Fingerprint {
				return false, err
			}
		}
		return true, nil
	})
}

// untilOneAuthority waits until both members trust only the current authority, and returns it.
func untilOneAuthority(t *testing.T) trust.Authority {
	t.Helper()
	current := currentAuthority(t)[0]
	await.Until(t, "one authority in the members", func(ctx context.Context) (bool, error) {
		for _, cluster := range world.Members {
			bundles, err := bundlesOf(ctx, cluster)
			if err != nil {
				return false, err
			}
			for _, bundle := range bundles {
				if all := trust.ParseAuthorities(bundle); len(all) != 1 || all[0].Hash != current.Hash {
					return false, nil
				}
			}
		}
		for name := range world.Members {
			mc := &v1alpha1.MemberCluster{}
			err := world.Hub.Get(ctx, client.ObjectKey{Name: name}, mc)
			if err != nil || mc.Status.CABundleHash != trust.BundleHash([]trust.Authority{current}) {
				return false, err
			}
		}
		return true, nil
	})
	return current
}

// bundlesOf are the CA bundles of both webhook configurations of the operator.
func bundlesOf(ctx context.Context, cluster *stack.Cluster) ([][]byte, error) {
	validating, err := operatorsWebhook(ctx, cluster)
	if err != nil {
		return nil, err
	}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := cluster.Get(ctx, client.ObjectKey{Name: "vmgroup-operator"}, mutating); err != nil {
		return nil, err
	}
	bundles := [][]byte{validating.ClientConfig.CABundle}
	for _, hook := range mutating.Webhooks {
		bundles = append(bundles, hook.ClientConfig.CABundle)
	}
	return bundles, nil
}

// saysBehind searches for the event about a member that does not know the new authority.
func saysBehind(ctx context.Context, member string) (bool, error) {
	var events corev1.EventList
	err := world.Hub.List(ctx, &events)
	return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
		return e.InvolvedObject.Name == member && e.Reason == v1alpha1.ReasonCABundleBehind && strings.Contains(e.Message, "certificate authority")
	}), err
}

// restart ends a replica like a kubelet and starts it again.
func restart(t *testing.T, r *stack.Replica) {
	t.Helper()
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	start(t, r)
}
