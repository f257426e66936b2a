//go:build unix

package crash

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// slowDeletions is a webhook that holds the deletions of the VmGroup "vg" of one namespace.
type slowDeletions struct {
	namespace string
	// asked is closed when it holds the deletion, probed when it was called for another one; release ends the hold.
	asked, probed, release chan struct{}
	once, probe            sync.Once
}

func (s *slowDeletions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	if review.Request.Name == "vg" {
		s.once.Do(func() { close(s.asked) })
		select {
		case <-s.release:
		case <-r.Context().Done():
		}
	} else {
		s.probe.Do(func() { close(s.probed) })
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	_ = json.NewEncoder(w).Encode(review)
}

// install makes the API server call it, and waits until it does.
func (s *slowDeletions) install(ctx context.Context, t *testing.T, c *stack.Cluster) {
	t.Helper()
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "slow-deletions"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "slow.deletions.example", AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(30)),
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), FailurePolicy: new(admissionregistrationv1.Ignore),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"vmgroups"},
				},
			}},
		}},
	}
	probe := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "probe"}, Spec: v1alpha1.VmGroupSpec{
		CPU: 1, Memory: 1, Template: template, Replicas: new(int32), Paused: true,
	}}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}, probe, configuration} {
		if err := c.Create(ctx, object); err != nil {
			t.Fatal(err)
		}
	}
	if err := await.Condition(ctx, "the webhook to be asked", func(ctx context.Context) (bool, error) {
		select {
		case <-s.probed:
			return true, nil
		default:
			return false, c.Delete(ctx, probe.DeepCopy(), client.DryRunAll)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// TestADeletionThatDoesNotSeeTheFinalizerLeavesNothing: a deletion that an API server has begun before the finalizer is
// written still removes the group (kubernetes/kubernetes#77988), and clones can have been sent by then.
func TestADeletionThatDoesNotSeeTheFinalizerLeavesNothing(t *testing.T) {
	ctx, lane := newTestLane(t)
	before, err := lane.stack.Person.VMs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	race := &trial{lane: lane, namespace: "unseen", name: "vg"}
	slow := &slowDeletions{namespace: race.namespace, asked: make(chan struct{}), probed: make(chan struct{}), release: make(chan struct{})}
	slow.install(ctx, t, lane.hub())

	// The manager writes nothing to the group before the deletion is in progress.
	lane.hub().Proxy.Hook(func(call localcluster.APICall) faultproxy.Fault {
		if call.Writes() && call.Resource == "vmgroups" && call.Namespace == race.namespace && call.Name == race.name {
			select {
			case <-slow.asked:
			case <-ctx.Done():
			}
		}
		return faultproxy.Fault{}
	})
	if err := race.create(ctx, 2); err != nil {
		t.Fatal(err)
	}
	deleted := make(chan error, 1)
	go func() { deleted <- remove(ctx, race) }()
	count := func(want int) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return await.Condition(ctx, fmt.Sprintf("%d VMs", want), func(ctx context.Context) (bool, error) {
			vms, err := lane.stack.Person.VMs(ctx)
			if err == nil && len(vms) != want {
				err = fmt.Errorf("there are %d", len(vms))
			}
			return err == nil, err
		})
	}
	if err := count(len(before) + 2); err != nil {
		t.Fatal(err)
	}
	group := race.object()
	if err := lane.hub().Get(ctx, client.ObjectKeyFromObject(group), group); err != nil {
		t.Fatal(err)
	}
	if !controllerutil.ContainsFinalizer(group, v1alpha1.VmGroupFinalizer) || !group.DeletionTimestamp.IsZero() {
		t.Fatalf("the deletion was not overtaken: %+v", group.ObjectMeta)
	}
	close(slow.release)
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	if err := lane.hub().Get(ctx, client.ObjectKeyFromObject(group), group); !apierrors.IsNotFound(err) {
		t.Logf("this API server saw the finalizer: %v", err)
	}
	if err := count(len(before)); err != nil {
		t.Fatalf("%v; %s", err, lane.Log(40))
	}
	after, err := lane.stack.Person.VMs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	unchanged(t, before, after)
}
