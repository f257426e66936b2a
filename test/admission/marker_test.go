//go:build unix

package admission

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

const (
	markerName = "table-marker"
	// connections is the number of webhook calls, each over a new connection: the balancer distributes them over the
	// replicas in turn.
	connections = 16
)

// marker shows when all components know the objects created before it. Caches receive objects of one kind in creation
// order: a cache with the marker's policy, namespace, group and quota has all earlier ones.
type marker struct{ t *testing.T }

func newMarker(t *testing.T) *marker { return &marker{t} }

// makePolicy creates the last policy: it allows one group in each member's marker namespace.
func (m *marker) makePolicy() {
	m.t.Helper()
	p := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: markerName}}
	p.Spec.Match.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{markerName: "yes"}}
	p.Spec.Limits = &v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Max: new(int32(32))}}
	p.Spec.Quota = &v1alpha1.PolicyQuota{Groups: new(int32(1))}
	if err := world.Hub.Create(m.t.Context(), p); err != nil {
		m.t.Fatal(err)
	}
}

// await creates the last namespace and, once ready returns true, the last group in both members, and waits until all
// components know them.
func (m *marker) await(ready func(context.Context) (bool, error)) {
	m.t.Helper()
	await.Until(m.t, "what the last groups wait for", ready)
	for member := range world.Members {
		makeNamespace(m.t, member, markerName, map[string]string{markerName: "yes"})
		group := raw(markerName, "seen", map[string]any{"cpu": int64(1), "memory": int64(1), "template": template})
		group.SetAnnotations(map[string]string{v1alpha1.PausedAnnotation: "true"})
		await.Until(m.t, "the last group of "+member, func(ctx context.Context) (bool, error) {
			err := world.Members[member].Create(ctx, group)
			return err == nil, err
		})
		m.t.Cleanup(func() { removePaused(m.t, member, group) })
	}
	m.known()
}

// known waits until the API servers and the webhooks of both replicas apply the marker.
func (m *marker) known() {
	m.t.Helper()
	for member := range world.Members {
		await.Until(m.t, "the API server of "+member+" to know the last policy", func(ctx context.Context) (bool, error) {
			probe := raw(markerName, "probe", map[string]any{"cpu": int64(64), "memory": int64(1), "template": template})
			err := world.Members[member].Create(ctx, probe, client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), "exceeds the maximum 32 of VmGroupPolicy") {
				return false, fmt.Errorf("not in force: %w", err)
			}
			return true, nil
		})
		await.Until(m.t, "both webhooks to know the last group of "+member, func(ctx context.Context) (bool, error) {
			for range connections {
				message, err := ask(ctx, member, raw(markerName, "probe", map[string]any{
					"cpu": int64(1), "memory": int64(1), "template": template, "replicas": int64(1),
				}))
				if err != nil || !strings.Contains(message, "1 are used, 0 are left") {
					return false, errors.Join(err, fmt.Errorf("a webhook says %q", message))
				}
			}
			return true, nil
		})
	}
	for _, vcenter := range tableVCenters() {
		await.Until(m.t, "both webhooks to know the templates of "+vcenter, func(ctx context.Context) (bool, error) {
			for range connections {
				answer, err := askAll(ctx, "team-a", raw(metav1.NamespaceDefault, "probe", map[string]any{
					"cpu": int64(1), "memory": int64(1), "template": "no-such-template", "replicas": int64(1), "vcenter": vcenter,
				}))
				if err != nil || !strings.Contains(strings.Join(answer.Warnings, "\n"), "does not exist in VCenter") {
					return false, errors.Join(err, fmt.Errorf("a webhook says %+v", answer))
				}
			}
			return true, nil
		})
	}
}

// ask asks the webhook of a member, like its API server and over a new connection, about a new group. It returns the
// rejection, "" for none.
func ask(ctx context.Context, member string, group *unstructured.Unstructured) (string, error) {
	answer, err := askAll(ctx, member, group)
	if err != nil || answer.Result == nil {
		return "", err
	}
	return answer.Result.Message, nil
}

// askAll is ask with the complete response.
func askAll(ctx context.Context, member string, group *unstructured.Unstructured) (*admissionv1.AdmissionResponse, error) {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := world.Members[member].Get(ctx, client.ObjectKey{Name: objects.Name}, configuration); err != nil {
		return nil, err
	}
	call := configuration.Webhooks[0].ClientConfig
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(call.CABundle)
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: authorities}}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, *call.URL, bytes.NewReader(review(group)))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	answer := admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Response == nil {
		return nil, fmt.Errorf("%s: %s", response.Status, body)
	}
	return answer.Response, nil
}

func review(group *unstructured.Unstructured) []byte {
	kind := v1alpha1.GroupVersion.WithKind("VmGroup")
	object, err := group.MarshalJSON()
	if err != nil {
		panic(err) // strings and numbers can be encoded
	}
	text, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "probe", Operation: admissionv1.Create, Namespace: group.GetNamespace(), Name: group.GetName(),
			Kind:     metav1.GroupVersionKind(kind),
			Resource: metav1.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: "vmgroups"},
			Object:   runtime.RawExtension{Raw: object},
		},
	})
	if err != nil {
		panic(err)
	}
	return text
}
