//go:build e2e

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// noPasswordAnywhere searches for vCenter's password in all places that users without access to the Secret can read:
// logs of all past containers, all objects, responses to rejected requests, metrics, and audit logs.
func noPasswordAnywhere(t *testing.T) {
	looked := map[string]int{}
	look := func(kind, where, text string) {
		looked[kind]++
		if containsPassword(text) {
			t.Errorf("the password is in %s %s", kind, where)
		}
	}
	for _, cluster := range append([]*stack.Cluster{world.hub.cluster}, world.members...) {
		objects(t, cluster, func(where, text string) { look("object", where, text) })
	}
	for kind, files := range world.logFiles(t) {
		for _, file := range files {
			content, err := os.ReadFile(file)
			must(t, err)
			look(kind, file, string(content))
		}
	}
	for i, text := range world.texts() {
		look("message", fmt.Sprint(i), text)
	}
	for kind, least := range map[string]int{"object": 500, "container's log": 5, "audit log": 3, "message": 5} {
		if looked[kind] < least {
			t.Errorf("checked %d of kind %s, want %d at least", looked[kind], kind, least)
		}
	}
	t.Logf("checked %v", looked)
}

// containsPassword also finds its URL and base64 encodings.
func containsPassword(text string) bool {
	return stack.ContainsPassword(text) || strings.Contains(text, url.QueryEscape(stack.Password)) ||
		strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(stack.Password)))
}

// listen records the readable content of our kinds and of events, which change.
func (w *setting) listen(t *testing.T) {
	t.Helper()
	for _, cluster := range append([]*stack.Cluster{w.hub.cluster}, w.members...) {
		for _, list := range []client.ObjectList{
			&corev1.EventList{}, &v1alpha1.VmGroupList{}, &v1alpha1.VCenterList{}, &v1alpha1.MemberClusterList{}, &v1alpha1.VmGroupPolicyList{},
		} {
			err := cluster.List(t.Context(), list)
			if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
				continue // a hub-only kind
			}
			must(t, err)
			content, err := json.Marshal(list)
			must(t, err)
			w.heard(string(content))
		}
	}
}

// objects calls f for every object of a cluster but the Secret that holds the password.
func objects(t *testing.T, cluster *stack.Cluster, f func(where, text string)) {
	t.Helper()
	clients, err := discovery.NewDiscoveryClientForConfig(cluster.Config)
	must(t, err)
	lists, err := clients.ServerPreferredResources()
	must(t, err)
	quiet := rest.CopyConfig(cluster.Config)
	quiet.WarningHandler = rest.NoWarnings{} // of deprecated kinds, which are also checked
	objects, err := dynamic.NewForConfig(quiet)
	must(t, err)
	for _, list := range lists {
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") {
				continue
			}
			version, err := schema.ParseGroupVersion(list.GroupVersion)
			must(t, err)
			all, err := objects.Resource(version.WithResource(resource.Name)).List(t.Context(), metav1.ListOptions{})
			must(t, err)
			for i := range all.Items {
				o := &all.Items[i]
				where := fmt.Sprintf("%s %s %s/%s", cluster.Name, o.GetKind(), o.GetNamespace(), o.GetName())
				if o.GetKind() == "Secret" {
					secret := &corev1.Secret{}
					err := cluster.Get(t.Context(), ref(o.GetNamespace(), o.GetName()), secret)
					if apierrors.IsNotFound(err) {
						continue // cert-manager used it during an issuance
					}
					must(t, err)
					var plain strings.Builder
					for _, value := range secret.Data {
						plain.Write(value)
					}
					if where != "hub Secret "+namespace+"/vc-creds" {
						f(where, plain.String())
					}
					continue
				}
				content, err := o.MarshalJSON()
				must(t, err)
				f(where, string(content))
			}
		}
	}
}
