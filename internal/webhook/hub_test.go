package webhook

import (
	"encoding/pem"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func namespaced(name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "vmgroup-operator-system"}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

// authority returns some certificate as PEM.
func authority(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

func hubRequest(t *testing.T, old, object client.Object) *admissionv1.AdmissionRequest {
	t.Helper()
	var before any
	if old != nil {
		before = old
	}
	request := requestFor(t, before, object)
	request.Namespace, request.Name = "", object.GetName()
	return request
}

// hubStory is an object of the hub, and the messages about it.
type hubStory[T client.Object] struct {
	story    string
	old      T
	object   T
	refused  string
	warnings []string
}

func (c hubStory[T]) check(t *testing.T, s *served, path string, updates bool) {
	t.Helper()
	var old client.Object
	if updates {
		old = c.old
	}
	got := s.askHub(path, hubRequest(t, old, c.object))
	message := ""
	if !got.Allowed {
		message = got.Result.Message
	}
	if got.Allowed != (c.refused == "") || message != c.refused {
		t.Errorf("%s: allowed %v: %s\nwant: %s", c.story, got.Allowed, message, c.refused)
	}
	if !slices.Equal(got.Warnings, c.warnings) {
		t.Errorf("%s: warnings:\n%s\nwant:\n%s", c.story, strings.Join(got.Warnings, "\n"), strings.Join(c.warnings, "\n"))
	}
}

func vcenter(change func(*v1alpha1.VCenter)) *v1alpha1.VCenter {
	vc := &v1alpha1.VCenter{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "VCenter"},
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec: v1alpha1.VCenterSpec{
			Server: "https://vc.example.com", Folder: "vm-operator", CredentialsSecretRef: v1alpha1.LocalObjectReference{Name: "creds"},
		},
	}
	if change != nil {
		change(vc)
	}
	return vc
}

func TestVCenters(t *testing.T) {
	// Messages reveal neither Secrets nor another VCenter of the same place: any client that reaches the
	// port could ask.
	s := serve(t, knowledgeWith(), func(o *Options) {
		o.Hub = hubWith(t, namespaced("half", map[string]string{"VC_USER": "u"}),
			vcenter(func(vc *v1alpha1.VCenter) { vc.Name, vc.Spec.Server = "other", "HTTPS://Other.example.com:443/sdk" }))
	})
	spec := func(f func(*v1alpha1.VCenterSpec)) *v1alpha1.VCenter {
		return vcenter(func(vc *v1alpha1.VCenter) { f(&vc.Spec) })
	}
	server := func(url string) *v1alpha1.VCenter {
		return spec(func(s *v1alpha1.VCenterSpec) { s.Server = url })
	}
	for _, c := range []hubStory[*v1alpha1.VCenter]{
		{story: "good", object: vcenter(nil)},
		{story: "a host only", object: server("vc.example.com")},
		{story: "with port and path", object: server("https://vc.example.com:8443/sdk")},
		{story: "no host", object: server("https://"), refused: "spec.server: Invalid value: must be a URL of the form https://<host>[:port]"},
		{story: "no URL", object: server("https://a b"), refused: "spec.server: Invalid value: must be a URL of the form https://<host>[:port]"},
		{story: "a password is not repeated", object: server("https://u:hunter2@vc"), refused: "spec.server: Invalid value: must not contain a user name or password; put them into the Secret"},
		{story: "plain http", object: server("http://vc"), refused: `spec.server: Invalid value: "http://vc": must use https; http would send the password in the clear`},
		{story: "ftp", object: server("ftp://vc"), refused: `spec.server: Invalid value: "ftp://vc": must use https, not "ftp"`},
		{story: "a slash at the end", object: server("https://vc.example.com/sdk/")},
		{story: "another path", object: server("https://vc.example.com/vpn"), refused: "spec.server: Invalid value: may have a host, a port and the path /sdk only"},
		{story: "a path below it", object: server("vc.example.com/sdk/../vpn"), refused: "spec.server: Invalid value: may have a host, a port and the path /sdk only"},
		{story: "a query", object: server("https://vc/?token=hunter2"), refused: "spec.server: Invalid value: may have a host, a port and the path /sdk only"},
		{
			story: "a simulator", object: spec(func(s *v1alpha1.VCenterSpec) {
				s.Server, s.TLS = "http://127.0.0.1:8989", &v1alpha1.TLSConfig{InsecureSkipVerify: true}
			}),
			warnings: []string{"spec.tls.insecureSkipVerify: anybody on the network path can read the password of this vCenter"},
		},
		{
			story: "a CA bundle without a certificate", object: spec(func(s *v1alpha1.VCenterSpec) { s.TLS = &v1alpha1.TLSConfig{CABundle: "nothing"} }),
			refused: `spec.tls.caBundle: Invalid value: "nothing": holds no PEM certificate`,
		},
		{story: "a CA bundle", object: spec(func(s *v1alpha1.VCenterSpec) { s.TLS = &v1alpha1.TLSConfig{CABundle: authority(t)} })},
		{
			story: "a thumbprint", object: spec(func(s *v1alpha1.VCenterSpec) {
				s.TLS = &v1alpha1.TLSConfig{Thumbprint: strings.TrimSuffix(strings.Repeat("AB:", 20), ":")}
			}),
		},
		{
			story: "half a thumbprint", object: spec(func(s *v1alpha1.VCenterSpec) { s.TLS = &v1alpha1.TLSConfig{Thumbprint: "AB:CD"} }),
			refused: `spec.tls.thumbprint: Invalid value: "AB:CD": must be the SHA-1 or SHA-256 of the server's certificate, 20 or 32 bytes in hexadecimal`,
		},
		{story: "a Secret that does not exist", object: spec(func(s *v1alpha1.VCenterSpec) { s.CredentialsSecretRef.Name = "later" })},
		{story: "half a Secret, and no server", object: spec(func(s *v1alpha1.VCenterSpec) { s.CredentialsSecretRef.Name, s.Server = "half", "" })},
		{story: "folders of the original operator", object: spec(func(s *v1alpha1.VCenterSpec) {
			s.LegacyFolders = []v1alpha1.LegacyFolder{
				{Folder: "vm-operator/a-b", MemberCluster: "local", Namespace: "a", Group: "b"}, {Folder: "vm-operator/a-c", MemberCluster: "local", Namespace: "a", Group: "c"},
			}
		})},
		{story: "a folder that is granted twice, in two spellings", refused: `spec.legacyFolders[1].folder: Duplicate value: "/DC0/vm/VM-operator/a-b-c/"`, object: spec(func(s *v1alpha1.VCenterSpec) {
			s.LegacyFolders = []v1alpha1.LegacyFolder{
				{Folder: "vm-operator/a-b-c", MemberCluster: "local", Namespace: "a-b", Group: "c"}, {Folder: "/DC0/vm/VM-operator/a-b-c/", MemberCluster: "local", Namespace: "a", Group: "b-c"},
			}
		})},
		{story: "a group that is granted two folders", refused: `spec.legacyFolders[1].group: Duplicate value: "b"`, object: spec(func(s *v1alpha1.VCenterSpec) {
			s.LegacyFolders = []v1alpha1.LegacyFolder{
				{Folder: "one", MemberCluster: "local", Namespace: "a", Group: "b"}, {Folder: "two", MemberCluster: "local", Namespace: "a", Group: "b"},
			}
		})},
		{
			story: "grants", object: spec(func(s *v1alpha1.VCenterSpec) {
				s.Grants = []v1alpha1.Grant{
					{MemberClusters: []string{"team-*"}, Templates: []string{"*"}},
					{
						MemberClusters: []string{"Team-A"}, Templates: []string{" linux", ""},
						NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}},
					},
				}
			}),
			refused: `spec.grants[1].memberClusters[0]: Invalid value: "Team-A": has capital letters, which no MemberCluster's name has; ` +
				`spec.grants[1].namespaceSelector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator; ` +
				`spec.grants[1].templates[0]: Invalid value: " linux": begins or ends with a space, so it matches nothing; ` +
				`spec.grants[1].templates[1]: Invalid value: "": an empty pattern matches nothing; write * for everything`,
		},
		{
			story: "limits", object: spec(func(s *v1alpha1.VCenterSpec) { s.Limits = v1alpha1.VCenterLimits{Tasks: 2, TasksPerHost: 4} }),
			warnings: []string{"spec.limits.tasksPerHost: 4 has no effect above tasks, which is 2"},
		},
		{story: "the place of another", object: server("https://other.example.com")},
	} {
		c.check(t, s, VCenterPath, false)
	}
	moved := vcenter(func(vc *v1alpha1.VCenter) { vc.Status.VMs = 7 })
	bad := server("ftp://vc")
	labeled, leaving := bad.DeepCopy(), bad.DeepCopy()
	labeled.Labels = map[string]string{"a": "b"}
	leaving.DeletionTimestamp, leaving.Spec.Server = now(), "ftp://other"
	for _, c := range []hubStory[*v1alpha1.VCenter]{
		{story: "labels of a bad one", old: bad, object: labeled},
		{story: "a bad one that is being deleted", old: bad, object: leaving},
		{
			story: "another folder", old: moved, object: spec(func(s *v1alpha1.VCenterSpec) { s.Folder = "elsewhere" }),
			warnings: []string{"7 VMs are in the place that this VCenter names now; they do not move, and their groups will wait for them"},
		},
		{
			story: "a path that was stored without a webhook", old: server("https://vc.example.com/vpn"),
			object:  spec(func(s *v1alpha1.VCenterSpec) { s.Server, s.Folder = "https://vc.example.com/vpn", "other" }),
			refused: "spec.server: Invalid value: may have a host, a port and the path /sdk only",
		},
	} {
		c.check(t, s, VCenterPath, true)
	}
}

func TestMemberClusters(t *testing.T) {
	s := serve(t, knowledgeWith(), func(o *Options) { o.Hub = hubWith(t, namespaced("bad", map[string]string{"kubeconfig": "exec"})) })
	member := func(secret string, change func(*v1alpha1.MemberClusterSpec)) *v1alpha1.MemberCluster {
		m := &v1alpha1.MemberCluster{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MemberCluster"},
			ObjectMeta: metav1.ObjectMeta{Name: "team-a"},
			Spec:       v1alpha1.MemberClusterSpec{KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: secret}},
		}
		if change != nil {
			change(&m.Spec)
		}
		return m
	}
	address := func(url string) *v1alpha1.MemberCluster {
		return member("good", func(s *v1alpha1.MemberClusterSpec) { s.Admission = &v1alpha1.MemberAdmission{URL: url} })
	}
	const noURL = "spec.admission.url: Invalid value: must be a URL of the form https://<host>[:port]"
	for _, c := range []hubStory[*v1alpha1.MemberCluster]{
		{story: "good", object: member("good", nil)},
		{story: "local", object: member("good", func(s *v1alpha1.MemberClusterSpec) { s.KubeconfigSecretRef = nil })},
		{story: "a Secret that does not exist", object: member("later", nil)},
		{story: "a kubeconfig that would be refused", object: member("bad", func(s *v1alpha1.MemberClusterSpec) {
			s.BootstrapKubeconfigSecretRef = &v1alpha1.KubeconfigReference{Name: "bad"}
		})},
		{story: "an address", object: address("https://hub.example.com:9443/")},
		{story: "a path, which nothing on the way can take off again", object: address("https://hub.example.com:9443/vmgroup"), refused: noURL},
		{story: "no address", object: address("")},
		{story: "http", object: address("http://hub"), refused: noURL},
		{story: "no host", object: address("https://:9443"), refused: noURL},
		{story: "no URL", object: address("https://a b"), refused: noURL},
		{story: "a password", object: address("https://u:hunter2@hub"), refused: "spec.admission.url: Invalid value: must not contain a user name or password"},
		{story: "a query", object: address("https://hub?x=1"), refused: "spec.admission.url: Invalid value: must not have a query or a fragment: API servers refuse them in webhooks"},
		{
			story: "Fail", object: member("good", func(s *v1alpha1.MemberClusterSpec) {
				s.Admission = &v1alpha1.MemberAdmission{FailurePolicy: v1alpha1.AdmissionFail}
			}),
			warnings: []string{"spec.admission.failurePolicy: Fail refuses every VmGroup of this member while the hub cannot be reached"},
		},
	} {
		c.check(t, s, MemberClusterPath, false)
	}
	bad := address("http://hub")
	labeled := bad.DeepCopy()
	labeled.Labels = map[string]string{"a": "b"}
	hubStory[*v1alpha1.MemberCluster]{story: "labels of a bad one", old: bad, object: labeled}.check(t, s, MemberClusterPath, true)
}
