//go:build unix

package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/webhookcall"
)

// leaked is a URL of the webhook that a member's user got in the error of a rejected request, because no replica
// responded.
type leaked struct{ member, url string }

var webhookURL = regexp.MustCompile(`https://[^"? ]+/clusters/[^"? ]+/[0-9a-f]{32}/(?:validate|mutate)`)

// leakOf reads the URL from an error.
func leakOf(t *testing.T, member string, err error) leaked {
	t.Helper()
	if err == nil {
		t.Fatal("nothing was refused")
	}
	found := webhookURL.FindString(err.Error())
	if found == "" {
		t.Fatalf("the error names no URL: %v", err)
	}
	return leaked{member, found}
}

// tried makes a caller who knows the URL, and reaches the port, try all kinds of requests. theirs is a group of
// another member.
func (l leaked) tried(t *testing.T, p *place, theirs *v1alpha1.VmGroup) {
	hook, err := operatorsWebhook(t.Context(), p.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(l.url)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(r *stack.Replica, path string, body []byte) (int, string) {
		t.Helper()
		at := *u
		at.Path = path
		c, err := webhookcall.New(admissionregistrationv1.WebhookClientConfig{URL: ptr.To(at.String()), CABundle: hook.ClientConfig.CABundle}, r.WebhookAddress())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		status, answer, err := c.Post(t.Context(), bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return status, string(answer)
	}
	validate := regexp.MustCompile(`(validate|mutate)$`).ReplaceAllString(u.Path, "validate")
	own := p.group("asked", 1)
	for _, r := range world.Replicas {
		if status, answer := ask(r, validate, webhookcall.Creation(own)); status != 200 {
			t.Fatalf("%s: the path of the error is of no use: %d %s", r.Name, status, answer)
		}
		_, want := ask(r, "/", nil)
		for _, path := range []string{
			strings.Replace(validate, "/"+l.member+"/", "/team-a/", 1), "/validate-vm-codeconnect-vmworld-com-v1alpha1-vmgrouppolicy",
			"/validate-vm-codeconnect-vmworld-com-v1alpha1-membercluster", "/validate-vm-codeconnect-vmworld-com-v1alpha1-vcenter",
		} {
			if status, answer := ask(r, path, webhookcall.Creation(own)); status != 404 || answer != want {
				t.Errorf("%s: POST %s is answered %d %q, want 404 %q", r.Name, path, status, answer, want)
			}
		}
		// As a request about a group of another member, with its UID and status.
		plain, feigned := p.group("feigned", 3), p.group("feigned", 3)
		feigned.UID, feigned.Status = theirs.UID, theirs.Status
		_, want = ask(r, validate, changeOf(t, plain, 1))
		if _, answer := ask(r, validate, changeOf(t, feigned, 1)); answer != want {
			t.Errorf("%s: of a group with the status of another member's it says\n%s\nand of one without\n%s", r.Name, answer, want)
		}
	}
}

// changeOf is the request to change the number of replicas of a group.
func changeOf(t *testing.T, old *v1alpha1.VmGroup, replicas int32) []byte {
	t.Helper()
	encode := func(g *v1alpha1.VmGroup) runtime.RawExtension {
		g.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
		text, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: text}
	}
	next := old.DeepCopy()
	next.Spec.Replicas = &replicas
	kind := metav1.GroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
	text, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "2f6f9f4e-5d3e-4b1c-9a53-000000000002", Operation: admissionv1.Update, Namespace: old.Namespace, Name: old.Name, Kind: kind,
			Resource: metav1.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: "vmgroups"}, Object: encode(next), OldObject: encode(old),
		},
	})
	if err != nil {
		t.Fatal(fmt.Errorf("encode a review: %w", err))
	}
	return text
}
