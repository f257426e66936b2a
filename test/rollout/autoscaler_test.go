//go:build linux && slow

package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// autoscaler is the Kubernetes autoscaler of a fleet's group, with a metric that the story sets.
type autoscaler struct {
	*fleet
	key client.ObjectKey
	// metric is the total load of all VMs, perVM the load of one.
	metric atomic.Int64
	perVM  int64
}

// autoscale makes the HorizontalPodAutoscaler of docs/how-to/autoscale.md scale the group, at the maximum rate to
// shorten the story. It starts with this many VMs. A tolerance is that of a scale-down; without one it is the default,
// a tenth.
func (f *fleet) autoscale(vms int64, tolerance *resource.Quantity) *autoscaler {
	f.t.Helper()
	hpa := documented(f.t)
	a := &autoscaler{fleet: f, key: client.ObjectKey{Namespace: f.key.Namespace, Name: hpa.Name}}
	external := hpa.Spec.Metrics[0].External
	a.perVM = external.Target.AverageValue.Value()
	a.metric.Store(vms * a.perVM)
	serveMetric(f.t, f.cluster, external.Metric.Name, f.key.Namespace, &a.metric)
	stop, err := f.cluster.StartControllers(f.t.Context(), localcluster.ControllersOptions{
		Controllers: []string{"horizontal-pod-autoscaler-controller"},
		Args:        []string{"--horizontal-pod-autoscaler-sync-period=1s"},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(stop)
	hpa.Namespace = f.key.Namespace
	now := int32(0)
	anyNumber := []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 100, PeriodSeconds: 1}}
	for _, rules := range []**autoscalingv2.HPAScalingRules{&hpa.Spec.Behavior.ScaleUp, &hpa.Spec.Behavior.ScaleDown} {
		if *rules == nil {
			*rules = &autoscalingv2.HPAScalingRules{}
		}
		(*rules).StabilizationWindowSeconds, (*rules).Policies = &now, anyNumber
	}
	hpa.Spec.Behavior.ScaleDown.Tolerance = tolerance
	if err := f.cluster.Create(f.t.Context(), hpa); err != nil {
		f.t.Fatal(err)
	}
	return a
}

// documented returns the example in the documentation.
func documented(t *testing.T) *autoscalingv2.HorizontalPodAutoscaler {
	t.Helper()
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "how-to", "autoscale.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1) {
		if !strings.Contains(string(example[1]), "kind: HorizontalPodAutoscaler") {
			continue
		}
		hpa := &autoscalingv2.HorizontalPodAutoscaler{}
		if err := yaml.UnmarshalStrict(example[1], hpa); err != nil {
			t.Fatal(err)
		}
		return hpa
	}
	t.Fatal("docs/how-to/autoscale.md has no example of a HorizontalPodAutoscaler")
	return nil
}

// untilScaled waits until the autoscaler has requested this many VMs and the operator has seen that.
func (a *autoscaler) untilScaled(vms int32) {
	a.t.Helper()
	a.metric.Store(int64(vms) * a.perVM)
	a.desired = vms
	a.until(fmt.Sprintf("the autoscaler to ask for %d VMs", vms), func(g *v1alpha1.VmGroup) bool { return *g.Spec.Replicas == vms })
}

// untilSettled waits until the autoscaler's conditions report success, and the requested number of VMs exists.
func (a *autoscaler) untilSettled() {
	a.t.Helper()
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	await.Until(a.t, fmt.Sprintf("the autoscaler to have its %d VMs", a.desired), func(ctx context.Context) (bool, error) {
		err := a.cluster.Get(ctx, a.key, hpa)
		s := &hpa.Status
		return err == nil && holds(s, autoscalingv2.AbleToScale) && holds(s, autoscalingv2.ScalingActive) && s.CurrentReplicas == a.desired &&
			s.DesiredReplicas == a.desired && len(s.CurrentMetrics) == 1 && s.CurrentMetrics[0].External.Current.AverageValue.Value() == a.perVM, err
	}, func() string { return fmt.Sprintf("%+v", hpa.Status) })
	scale := &autoscalingv1.Scale{}
	if err := a.cluster.SubResource("scale").Get(a.t.Context(), a.object(), scale); err != nil {
		a.t.Fatal(err)
	}
	if selector, err := labels.Parse(scale.Status.Selector); err != nil || selector.Empty() {
		a.t.Errorf("the scale has selector %q, which an autoscaler refuses: %v", scale.Status.Selector, err)
	}
	if scale.Spec.Replicas != a.desired || scale.Status.Replicas != a.desired {
		a.t.Errorf("the scale has %d VMs and asks for %d, want %d", scale.Status.Replicas, scale.Spec.Replicas, a.desired)
	}
}

func holds(s *autoscalingv2.HorizontalPodAutoscalerStatus, condition autoscalingv2.HorizontalPodAutoscalerConditionType) bool {
	for _, c := range s.Conditions {
		if c.Type == condition {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// sizes are all sizes that the autoscaler requested. It fails for each error of the autoscaler.
func (a *autoscaler) sizes() (sizes []string) {
	a.t.Helper()
	var events corev1.EventList
	if err := a.cluster.List(a.t.Context(), &events, client.InNamespace(a.key.Namespace)); err != nil {
		a.t.Fatal(err)
	}
	for i := range events.Items {
		e := &events.Items[i]
		if e.InvolvedObject.Kind != "HorizontalPodAutoscaler" {
			continue
		}
		size, _, ok := strings.Cut(strings.TrimPrefix(e.Message, "New size: "), ";")
		if !ok || e.Reason != "SuccessfulRescale" {
			a.t.Errorf("the autoscaler says %s: %s", e.Reason, e.Message)
			continue
		}
		for range e.Count {
			sizes = append(sizes, size)
		}
	}
	return sizes
}

const externalMetrics = "/apis/external.metrics.k8s.io/v1beta1"

// service routes the API server to the metric's server. Its address is on this machine, which is invalid in an
// endpoint; a name is valid.
const service = `
apiVersion: v1
kind: Service
metadata: {name: metrics, namespace: %[1]s}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.external.metrics.k8s.io}
spec:
  group: external.metrics.k8s.io
  version: v1beta1
  service: {name: metrics, namespace: %[1]s, port: %[2]s}
  insecureSkipTLSVerify: true
  groupPriorityMinimum: 100
  versionPriority: 100
`

// serveMetric serves one external metric to the cluster's API server until the end of the test, like an adapter of a
// monitoring system.
func serveMetric(t *testing.T, cluster *stack.Cluster, name, namespace string, value *atomic.Int64) {
	t.Helper()
	answer := func(w http.ResponseWriter, object map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(object); err != nil {
			t.Logf("answer %v: %v", object["kind"], err) // the caller has disconnected
		}
	}
	paths := http.NewServeMux()
	paths.HandleFunc(externalMetrics, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "external.metrics.k8s.io/v1beta1", "resources": []any{}})
	})
	paths.HandleFunc(externalMetrics+"/namespaces/"+namespace+"/"+name, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "metadata": map[string]any{}, "items": []any{
			map[string]any{"metricName": name, "timestamp": time.Now().UTC().Format(time.RFC3339), "value": fmt.Sprint(value.Load())},
		}})
	})
	server := httptest.NewTLSServer(paths)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.ApplyYAML(t.Context(), fmt.Appendf(nil, service, namespace, at.Port())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Delete(context.Background(), apiService()); err != nil {
			t.Error(err)
		}
	})
	await.Until(t, "the API server to serve the metric", func(ctx context.Context) (bool, error) {
		object := apiService()
		err := cluster.Get(ctx, client.ObjectKeyFromObject(object), object)
		return err == nil && served(object), err
	})
}

func apiService() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("apiregistration.k8s.io/v1")
	object.SetKind("APIService")
	object.SetName("v1beta1.external.metrics.k8s.io")
	return object
}

// served reports whether the API server has reached the API's server.
func served(apiService *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(apiService.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, ok := c.(map[string]any)
		return ok && condition["type"] == "Available" && condition["status"] == "True"
	})
}
