//go:build unix && !fast

package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcluster "sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/go-logr/logr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/edits"
	"github.com/codeconnect/vmgroup-operator/internal/edits/recorder"
	"github.com/codeconnect/vmgroup-operator/internal/events"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// recordedEdits passes requests to a recorder, once there is one.
type recordedEdits struct {
	mu    sync.Mutex
	to    *recorder.Recorder
	users []string
}

// Admitted implements Edits.
func (r *recordedEdits) Admitted(q edits.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users = append(r.users, q.Edit.User)
	if r.to != nil {
		r.to.Admitted(q)
	}
}

// member is the cluster as the recorder sees it, without a cache.
type member struct {
	ctrlcluster.Cluster
	api    client.Client
	events *events.Recorder
}

func (m member) GetClient() client.Client                           { return m.api }
func (m member) GetAPIReader() client.Reader                        { return m.api }
func (m member) GetEventRecorder(string) clientevents.EventRecorder { return m.events }

func (m member) GetCluster(context.Context, multicluster.ClusterName) (ctrlcluster.Cluster, error) {
	return m, nil
}

// as is a client of another user.
func (c *cluster) as(user string) client.Client {
	c.t.Helper()
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	of, err := client.New(config, client.Options{Scheme: c.Scheme()})
	if err != nil {
		c.t.Fatal(err)
	}
	return client.WithFieldOwner(of, "tool-of-"+user)
}

// refusing registers another webhook, which refuses the changes of one user.
func (c *cluster) refusing(user string) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if json.NewDecoder(r.Body).Decode(&review) != nil || review.Request == nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: review.Request.UserInfo.Username != user, Result: &metav1.Status{Message: "not this user"},
		}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	}))
	c.t.Cleanup(server.Close)
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	other := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "another"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "another.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: c.caBundle},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"vmgroups", "vmgroups/scale"},
				},
			}},
			FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}
	c.create(other)
	c.t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(c.t.Context()), other) })
	await.NoError(c.t, "the other webhook refuses", func() error {
		if c.as(user).Create(c.t.Context(), made("refused", nil), client.DryRunAll) == nil {
			return errors.New("accepted")
		}
		return nil
	})
}

// whoEdited edits a group as several users. Exactly the stored changes are in its status and its events.
func (r *recordedEdits) whoEdited(c *cluster, w *changingKnowledge) {
	ctx, cancel := context.WithCancel(c.t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	written := events.New(events.Options{Client: c.Client, Instance: "one", Now: time.Now, Log: logr.Discard(), Retry: events.DefaultRetry()})
	to := recorder.New(recorder.Options{
		Clusters: member{api: c.Client, events: written}, Clock: clock.RealClock{}, Log: logr.Discard(), Interval: 20 * time.Millisecond, Settle: 20 * time.Millisecond,
	})
	for _, start := range []func(context.Context) error{written.Start, to.Start} {
		running.Go(func() { _ = start(ctx) })
	}
	c.refusing("mallory")
	r.mu.Lock()
	r.to, r.users = to, nil
	r.mu.Unlock()

	alice, bob, carol, mallory := c.as("alice@example.com"), c.as("bob"), c.as("carol"), c.as("mallory")
	g := made("edited", nil)
	read := func() *v1alpha1.VmGroup {
		c.t.Helper()
		if err := c.Get(ctx, client.ObjectKeyFromObject(g), g); err != nil {
			c.t.Fatal(err)
		}
		return g
	}
	// An update of spec, as a patch: the operator writes status at the same time.
	edit := func(by client.Client, change func(*v1alpha1.VmGroupSpec), opts ...client.PatchOption) error {
		after := read().DeepCopy()
		change(&after.Spec)
		return by.Patch(ctx, after, client.MergeFrom(g), opts...)
	}
	scale := func(by client.Client, to int32, opts ...client.SubResourceUpdateOption) error {
		w.put(read().DeepCopy())
		body := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: g.Name, Namespace: g.Namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: to}}
		return by.SubResource("scale").Update(ctx, g.DeepCopy(), append(opts, client.WithSubResourceBody(body))...)
	}
	resize := func(s *v1alpha1.VmGroupSpec) { s.CPU, s.Paused = 3, true }
	is := func(what string, got error, refused bool) {
		c.t.Helper()
		if (got != nil) != refused {
			c.t.Errorf("%s: %v", what, got)
		}
	}
	is("alice creates", alice.Create(ctx, g), false)
	is("bob tries an edit", edit(bob, func(s *v1alpha1.VmGroupSpec) { s.Template = "linux-13" }, client.DryRunAll), false)
	is("mallory edits", edit(mallory, resize), true)
	is("bob makes the same edit", edit(bob, resize), false)
	is("mallory scales", scale(mallory, 7), true)
	is("bob tries to scale", scale(bob, 9, client.DryRunAll), false)
	is("carol scales", scale(carol, 5), false)
	labeled := read().DeepCopy()
	labeled.Labels = map[string]string{"a": "b"}
	is("mallory's policy is not about carol's label", carol.Patch(ctx, labeled, client.MergeFrom(g)), false)
	is("alice edits", edit(alice, func(s *v1alpha1.VmGroupSpec) { s.Template = "linux-13" }), false)

	want := []string{
		"1 alice@example.com []", "2 bob [cpu 2→3 paused unset→true]", "3 carol [replicas 3→5]", "4 alice@example.com [template linux-12→linux-13]",
	}
	await.NoError(c.t, "the edits are in status", func() error {
		edited := read().Status.Edits
		got := make([]string, 0, len(edited))
		for _, e := range edited {
			got = append(got, fmt.Sprint(e.Generation, " ", e.User, " ", e.Fields))
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("edits %q, want %q", got, want)
		}
		return nil
	})
	notes := []string{
		"alice@example.com (tool-of-alice@example.com) changed template linux-12→linux-13 in generation 4",
		"alice@example.com (tool-of-alice@example.com) created the VmGroup",
		"bob (tool-of-bob) changed cpu 2→3, paused unset→true in generation 2",
		"carol (tool-of-carol) changed replicas 3→5 in generation 3",
	}
	await.NoError(c.t, "the events", func() error {
		var list eventsv1.EventList
		if err := c.List(ctx, &list); err != nil {
			return err
		}
		var got []string
		for _, e := range list.Items {
			if e.Reason == v1alpha1.EventSpecChanged && e.Regarding.UID == g.UID {
				got = append(got, e.Note)
			}
		}
		if slices.Sort(got); !slices.Equal(got, notes) {
			return fmt.Errorf("events %q, want %q", got, notes)
		}
		return nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.users, "mallory") {
		c.t.Error("the webhook did not admit the edits that another one refused")
	}
	r.to = nil
}
