package operator

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	definitions "github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// Previews join and leave each day.
func TestSeriesOfMembersAndVCentersThatWereDeletedEnd(t *testing.T) {
	registry := prometheus.NewRegistry()
	requests, destroyed, drift := definitions.AdmissionRequests.NewCounter(), definitions.VMsDestroyed.NewCounter(), definitions.Drift.NewCounter()
	took, restored := definitions.VCenterTaskTime.NewHistogram(), definitions.MemberStorageRestored.NewGauge()
	registry.MustRegister(requests, destroyed, drift, took, restored)
	count := func() {
		for _, member := range []string{"stays", "left"} {
			requests.WithLabelValues("groups", member, "allowed").Inc()
			requests.WithLabelValues("groups", member, "refused").Inc()
			destroyed.WithLabelValues(member, "deletion").Inc()
			restored.WithLabelValues(member).Set(1)
		}
		requests.WithLabelValues("hub", "", "allowed").Inc()
		drift.WithLabelValues("stays", "moved").Inc()
		drift.WithLabelValues("left", "moved").Inc()
		drift.WithLabelValues(definitions.Other, "moved").Inc()
		took.WithLabelValues("left", "clone").Observe(1)
	}
	count()
	hub := clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithObjects(
		&v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "stays"}}, &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "stays"}},
	).Build()
	unread := interceptor.NewClient(hub, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, vcenters := list.(*v1alpha1.VCenterList); vcenters {
			return errors.New("the cache has not synced")
		}
		return c.List(ctx, list, opts...)
	}})
	series{unread}.retain(t.Context())
	if all := text(t, registry); strings.Count(all, "left") != 6 {
		t.Errorf("while the objects are unknown, series are removed: %s", all)
	}
	series{hub}.retain(t.Context())
	if all := text(t, registry); strings.Contains(all, "left") || strings.Count(all, "stays") != 5 || !strings.Contains(all, definitions.Other) || !strings.Contains(all, `"hub"`) {
		t.Errorf("the series are %s", all)
	}
	count() // a request that began before the deletion ends after it
	series{hub}.retain(t.Context())
	if all := text(t, registry); strings.Contains(all, "left") {
		t.Errorf("later, the series are %s", all)
	}
}

func TestRequestsToMembersThatLeftHaveNoSeriesForTheirHosts(t *testing.T) {
	requests := func() (all string) {
		for line := range strings.Lines(text(t, metrics.Registry)) {
			if strings.HasPrefix(line, `name:"rest_client_requests_total"`) {
				all += line
			}
		}
		return all
	}
	for _, host := range []string{"first.example.com", "second.example.com"} {
		clientmetrics.RequestResult.Increment(t.Context(), "299", "GET", host)
	}
	after := requests()
	if strings.Count(after, `"299"`) != 1 || strings.Contains(after, "example.com") {
		t.Errorf("the series are %s", after)
	}
}

// text is all that a registry has.
func text(t *testing.T, from prometheus.Gatherer) string {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, family := range families {
		b.WriteString(family.String() + "\n")
	}
	return b.String()
}
