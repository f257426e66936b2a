//go:build unix && slow

package admission

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/webhookcall"
)

// invented is a segment that was never issued.
const invented = "00000000000000000000000000000000"

var segment = regexp.MustCompile(`[0-9a-f]{32}`)

func segmentIn(url string) string { return segment.FindString(url) }

// configured is the URL that a member calls now, which an error would contain as well.
func configured(t *testing.T, member string) leaked {
	t.Helper()
	hook, err := operatorsWebhook(t.Context(), world.Members[member])
	if err != nil {
		t.Fatal(err)
	}
	return leaked{member, *hook.ClientConfig.URL}
}

// urlsOf are the URLs of all the operator's webhooks in a member.
func urlsOf(ctx context.Context, cluster *stack.Cluster) ([]string, error) {
	validating, err := operatorsWebhook(ctx, cluster)
	if err != nil {
		return nil, err
	}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := cluster.Get(ctx, client.ObjectKey{Name: objects.Name}, mutating); err != nil {
		return nil, err
	}
	urls := []string{*validating.ClientConfig.URL}
	for _, hook := range mutating.Webhooks {
		urls = append(urls, *hook.ClientConfig.URL)
	}
	return urls, nil
}

// namespaceUser is a user with all permissions on the VmGroups of one namespace, and no others.
type namespaceUser struct {
	*place
	client client.Client
	warned *collector
}

func newNamespaceUser(t *testing.T, p *place) *namespaceUser {
	t.Helper()
	name := metav1.ObjectMeta{Namespace: p.namespace, Name: "user-of-" + p.namespace}
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"vmgroups"}, Verbs: []string{"*"}}}},
		&rbacv1.RoleBinding{
			ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name.Name}},
		},
	} {
		if err := p.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	u := &namespaceUser{place: p, warned: &collector{}}
	config := rest.CopyConfig(p.Config)
	config.Impersonate, config.WarningHandler = rest.ImpersonationConfig{UserName: name.Name}, u.warned
	u.client = clientWith(t, p.Cluster, config)
	await.NoError(t, "the user to be known", func() error { return u.client.Create(t.Context(), p.group("known", 1), client.DryRunAll) })
	return u
}

// failedCall is the error of a request while the member's API server cannot call the hub.
func (u *namespaceUser) failedCall() error {
	u.t.Helper()
	open := world.Admission.Shut()
	defer open()
	err := u.client.Create(u.t.Context(), u.group("leaked", 1))
	if !apierrors.IsInternalError(err) {
		u.t.Fatalf("got %v, want that the webhook cannot be called", err)
	}
	return err
}

// asks returns the response to the user's new group: the reason of its rejection, and the warnings.
func (u *namespaceUser) asks(g *v1alpha1.VmGroup) (refusal string, warnings []string) {
	u.t.Helper()
	u.warned.take()
	err := u.client.Create(u.t.Context(), g.DeepCopy(), client.DryRunAll)
	if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		u.t.Fatal(err)
	}
	_, refusal, _ = strings.Cut(fmt.Sprint(err), "denied the request: ")
	return refusal, u.warned.take()
}

// tellsOnlyWhat fails unless a caller who knows the URL gets the user's response for groups in the user's namespace.
// A namespace of another member must give the same response as a nonexistent one.
func (l leaked) tellsOnlyWhat(u *namespaceUser, theirs *place) {
	t := u.t
	t.Helper()
	refusals, warned := 0, 0
	for _, g := range []*v1alpha1.VmGroup{
		u.group("fits", 1), u.group("beyond", 9),
		u.group("unknown-template", 1, func(g *v1alpha1.VmGroup) { g.Spec.Template = "no-such-template" }),
		u.group("unknown-vcenter", 1, func(g *v1alpha1.VmGroup) { g.Spec.VCenter = "no-such-vcenter" }),
	} {
		refusal, warnings := u.asks(g)
		refusals += min(len(refusal), 1)
		warned += len(warnings)
		for _, r := range world.Replicas {
			saidNo, said := l.judge(t, r, g)
			if saidNo != refusal || !slices.Equal(said, warnings) {
				t.Errorf("%s answers for %s: %q with warnings %q; a user of the namespace gets %q with warnings %q", r.Name, g.Name, saidNo, said, refusal, warnings)
			}
		}
	}
	if refusals == 0 || warned == 0 {
		t.Errorf("of %d refusals and %d warnings there is nothing to compare", refusals, warned)
	}
	for _, r := range world.Replicas {
		in := func(namespace string) string {
			g := theirs.group("theirs", 9) // the quota applies in the namespace of the other member
			g.Namespace = namespace
			return strings.ReplaceAll(string(l.answer(t, r, l.url, webhookcall.Creation(g))), namespace, "NAMESPACE")
		}
		nobodys := strings.Repeat("n", len(theirs.namespace))
		if got, want := in(theirs.namespace), in(nobodys); got != want {
			t.Errorf("%s answers for a namespace of another member: %q, and for a missing one: %q", r.Name, got, want)
		}
	}
}

// judge asks a replica about a new group.
func (l leaked) judge(t *testing.T, r *stack.Replica, g *v1alpha1.VmGroup) (refusal string, warnings []string) {
	t.Helper()
	whole := l.answer(t, r, l.url, webhookcall.Creation(g))
	_, body, _ := bytes.Cut(whole, []byte("\r\n\r\n"))
	review := admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, &review); err != nil || review.Response == nil {
		t.Fatalf("%s answers %q: %v", r.Name, whole, err)
	}
	if !review.Response.Allowed {
		refusal = review.Response.Result.Message
	}
	return refusal, review.Response.Warnings
}

// untilItIsLikeAnInvention waits until each replica's response to a call by the URL equals, byte for byte, that to an
// invented segment.
func (l leaked) untilItIsLikeAnInvention(t *testing.T) {
	t.Helper()
	own := (&place{namespace: metav1.NamespaceDefault}).group("asked", 1)
	for _, r := range world.Replicas {
		want := l.answer(t, r, segment.ReplaceAllString(l.url, invented), webhookcall.Creation(own))
		if !bytes.HasPrefix(want, []byte("HTTP/1.1 404 Not Found\r\n")) {
			t.Fatalf("%s answers an invented segment with %q", r.Name, want)
		}
		await.Until(t, fmt.Sprintf("the segment of %s to end at %s", l.member, r.Name), func(context.Context) (bool, error) {
			got := l.answer(t, r, l.url, webhookcall.Creation(own))
			if bytes.HasPrefix(got, []byte("HTTP/1.1 404")) && !bytes.Equal(got, want) {
				t.Fatalf("%s answers %q, and an invented segment with %q", r.Name, got, want)
			}
			return bytes.Equal(got, want), nil
		})
	}
}

var date = regexp.MustCompile(`(?m)^Date: .*\r\n`)

// answer is the raw response of a replica to a POST, without the date.
func (l leaked) answer(t *testing.T, r *stack.Replica, to string, body []byte) []byte {
	t.Helper()
	hook, err := operatorsWebhook(t.Context(), world.Members[l.member])
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(hook.ClientConfig.CABundle)
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}}
	conn, err := dialer.DialContext(t.Context(), "tcp", r.WebhookAddress())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Close = true
	if err := request.Write(conn); err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return date.ReplaceAll(whole, nil)
}
