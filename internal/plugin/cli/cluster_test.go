//go:build unix && !fast

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// The API servers are shared by all tests of the package. Each test uses a MemberCluster name of its own, and cleans the member.
var (
	hubServer    = localcluster.Share("hub")
	memberServer = localcluster.Share("member")
)

func TestMain(m *testing.M) { os.Exit(memberServer.Stop(hubServer.Run(m))) }

const operatorNamespace = "operator"

// bench is a hub with CRDs and a member without, and the kubeconfig of a user of both.
type bench struct {
	testing.TB
	hub, member client.Client
	file        *clientcmdapi.Config
	// cache is the directory of what commands remember. By default, each test has its own.
	cache   string
	servers struct{ hub, member *localcluster.ControlPlane }
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{TB: t, file: clientcmdapi.NewConfig()}
	b.servers.hub, b.servers.member = hubServer.Get(t), memberServer.Get(t)
	b.hub, b.member = b.client(b.servers.hub), b.client(b.servers.member)
	b.context("hub", b.servers.hub.Kubeconfig())
	b.context("edge", b.servers.member.Kubeconfig())
	b.file.CurrentContext = "hub"
	if err := b.hub.List(t.Context(), &v1alpha1.MemberClusterList{}); meta.IsNoMatchError(err) {
		for _, definition := range crd.Hub() {
			b.must(client.IgnoreAlreadyExists(b.hub.Create(t.Context(), definition)))
		}
		await.NoError(t, "MemberClusters to be served", func() error { return b.hub.List(t.Context(), &v1alpha1.MemberClusterList{}) })
	} else {
		b.must(err)
	}
	b.must(client.IgnoreAlreadyExists(b.hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})))
	t.Cleanup(b.clean)
	return b
}

func (b *bench) client(server *localcluster.ControlPlane) client.Client {
	b.Helper()
	c, err := client.New(server.Config, client.Options{Scheme: cluster.Scheme()})
	b.must(err)
	return c
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// context adds the only context of a kubeconfig under a name. The caller can change its parts.
func (b *bench) context(name string, content []byte) {
	b.Helper()
	from, err := clientcmd.Load(content)
	b.must(err)
	chosen := from.Contexts[from.CurrentContext]
	b.file.Clusters[name], b.file.AuthInfos[name] = from.Clusters[chosen.Cluster], from.AuthInfos[chosen.AuthInfo]
	b.file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
}

// clean removes what the plugin creates.
func (b *bench) clean() {
	ctx := context.Background()
	for _, object := range b.inventory(ctx) {
		object.SetFinalizers(nil)
		b.must(client.IgnoreNotFound(b.of(object).Delete(ctx, object)))
	}
	b.must(client.IgnoreNotFound(b.member.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: identities}})))
	b.endNamespace(ctx)
}

// identities is the namespace of the operator's identities in a member.
const identities = "vmgroup-operator"

// endNamespace ends the deletion of the namespace of the identities, as the namespace controller does. The plugin has deleted its content.
func (b *bench) endNamespace(ctx context.Context) {
	b.Helper()
	namespace := &corev1.Namespace{}
	err := b.member.Get(ctx, types.NamespacedName{Name: identities}, namespace)
	if b.must(client.IgnoreNotFound(err)); err != nil || namespace.DeletionTimestamp.IsZero() {
		return
	}
	namespace.Spec.Finalizers = nil
	b.must(b.member.SubResource("finalize").Update(ctx, namespace))
}

// of returns the client of an object of the inventory.
func (b *bench) of(object client.Object) client.Client {
	if object.GetNamespace() == operatorNamespace {
		return b.hub
	}
	if _, isMember := object.(*v1alpha1.MemberCluster); isMember {
		return b.hub
	}
	return b.member
}

// inventory returns what the plugin has created on both sides, without the namespace of the identities.
func (b *bench) inventory(ctx context.Context) (all []client.Object) {
	b.Helper()
	for _, list := range []struct {
		in   client.Client
		what client.ObjectList
	}{
		{b.hub, &v1alpha1.MemberClusterList{}},
		{b.hub, &corev1.SecretList{}},
		{b.member, &corev1.SecretList{}},
		{b.member, &corev1.ServiceAccountList{}},
		{b.member, &rbacv1.ClusterRoleList{}},
		{b.member, &rbacv1.ClusterRoleBindingList{}},
		{b.member, &rbacv1.RoleList{}},
		{b.member, &rbacv1.RoleBindingList{}},
		{b.member, &admissionregistrationv1.ValidatingAdmissionPolicyList{}},
		{b.member, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}},
	} {
		b.must(list.in.List(ctx, list.what))
		b.must(meta.EachListItem(list.what, func(item runtime.Object) error {
			object := item.(client.Object)
			name := object.GetName()
			if object.GetNamespace() == operatorNamespace || strings.HasPrefix(name, "vmgroup") || isMemberCluster(object) {
				all = append(all, object)
			}
			return nil
		}))
	}
	return all
}

func isMemberCluster(object client.Object) bool {
	_, is := object.(*v1alpha1.MemberCluster)
	return is
}

// versions returns the resource versions of the inventory by kind and name.
func (b *bench) versions() map[string]string {
	b.Helper()
	all := map[string]string{}
	for _, object := range b.inventory(b.Context()) {
		gvk, err := b.hub.GroupVersionKindFor(object)
		b.must(err)
		all[gvk.Kind+" "+object.GetNamespace()+"/"+object.GetName()] = object.GetResourceVersion()
	}
	return all
}

// run runs the plugin as a user does, and returns its output and error.
func (b *bench) run(args ...string) (string, error) {
	b.Helper()
	out := &bytes.Buffer{}
	err := b.command(b.Context(), out, b.writeFile(), args...)
	return out.String(), err
}

// writeFile writes the kubeconfig, and returns its path.
func (b *bench) writeFile() string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "config")
	b.must(clientcmd.WriteToFile(*b.file, path))
	return path
}

// command runs a command with a kubeconfig.
func (b *bench) command(ctx context.Context, out io.Writer, kubeconfig string, args ...string) error {
	if b.cache == "" {
		b.cache = b.TempDir()
	}
	root := New(Options{IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: out, ErrOut: out}, Version: "v1", Now: time.Now, CacheDir: b.cache})
	root.SetArgs(append([]string{"--kubeconfig", kubeconfig, "--operator-namespace", operatorNamespace}, args...))
	return root.ExecuteContext(ctx)
}

// join is the usual command.
func (b *bench) join(name string, more ...string) (string, error) {
	b.Helper()
	return b.run(append([]string{"member", "join", name, "--member-context", "edge", "--server", b.servers.member.Config.Host, "--wait", "0"}, more...)...)
}

// operator reports on a MemberCluster in the operator's place.
func (b *bench) operator(name string, conditions ...metav1.Condition) {
	b.Helper()
	mc := &v1alpha1.MemberCluster{}
	b.must(b.hub.Get(b.Context(), types.NamespacedName{Name: name}, mc))
	mc.Status.ObservedGeneration = mc.Generation
	for _, c := range conditions {
		meta.SetStatusCondition(&mc.Status.Conditions, c)
	}
	b.must(b.hub.Status().Update(b.Context(), mc))
}

// same fails if both inventories differ.
func (b *bench) same(story string, was, is map[string]string) {
	b.Helper()
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if was[name] != is[name] {
			b.Errorf("%s: %s has changed from %q to %q", story, name, was[name], is[name])
		}
	}
	for name := range was {
		if _, there := is[name]; !there {
			b.Errorf("%s: %s was deleted", story, name)
		}
	}
}

// user returns a kubeconfig of a user without rights.
func (b *bench) user(server *localcluster.ControlPlane, name string) []byte {
	b.Helper()
	content, err := server.UserKubeconfig(name)
	b.must(err)
	return content
}

// make creates an object, and deletes it at the end of the test. It waits for the end of the deletion: an API server deletes a CRD after the objects of its kind.
func (b *bench) make(in client.Client, object client.Object) {
	b.Helper()
	b.must(in.Create(b.Context(), object))
	b.Cleanup(func() {
		gone := object.DeepCopyObject().(client.Object)
		gone.SetFinalizers(nil)
		if b.must(client.IgnoreNotFound(in.Delete(context.Background(), object))); len(object.GetFinalizers()) > 0 {
			b.must(client.IgnoreNotFound(in.Patch(context.Background(), gone, client.MergeFrom(object))))
		}
		await.Until(b, "the deletion of "+object.GetName(), func(ctx context.Context) (bool, error) {
			err := in.Get(ctx, client.ObjectKeyFromObject(object), gone)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	})
}

// uid is the UID of a cluster.
func (b *bench) uid(of client.Client) string {
	b.Helper()
	ns := &corev1.Namespace{}
	b.must(of.Get(b.Context(), types.NamespacedName{Name: metav1.NamespaceSystem}, ns))
	return string(ns.UID)
}

// through puts a proxy in front of a context's API server.
func (b *bench) through(server *localcluster.ControlPlane, context string, hook func(localcluster.APICall) faultproxy.Fault) *localcluster.APIProxy {
	b.Helper()
	proxy, err := server.NewProxy()
	b.must(err)
	b.Cleanup(proxy.Close)
	proxy.Hook(hook)
	content, err := proxy.Kubeconfig()
	b.must(err)
	b.context(context, content)
	return proxy
}

// answers replaces the body of each answer of a path by what edit returns.
func answers(path string, edit func([]byte) []byte) func(localcluster.APICall) faultproxy.Fault {
	return func(call localcluster.APICall) faultproxy.Fault {
		if call.Path != path {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{Edit: edit}
	}
}

// version makes an API server report another version.
func version(v string) func(localcluster.APICall) faultproxy.Fault {
	return answers("/version", func([]byte) []byte {
		content, _ := json.Marshal(map[string]string{"gitVersion": v}) // a string is never refused
		return content
	})
}

// terminating makes the namespace of the identities look as if it was being deleted.
func terminating(call localcluster.APICall) faultproxy.Fault {
	if call.Path != "/api/v1/namespaces/vmgroup-operator" {
		return faultproxy.Fault{}
	}
	return faultproxy.Fault{Act: faultproxy.Answer, Status: http.StatusOK, ContentType: "application/json", Body: []byte(
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"vmgroup-operator","uid":"1","deletionTimestamp":"2026-01-01T00:00:00Z"}}`)}
}

// late is the answer of an API server whose clock is an hour behind.
func late(call localcluster.APICall) faultproxy.Fault {
	if call.Path != "/version" {
		return faultproxy.Fault{}
	}
	return faultproxy.Fault{Act: faultproxy.Answer, Serve: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		_, _ = w.Write([]byte(`{"gitVersion":"v1.36.0"}`))
	}}
}

// foreignCRD has the name of the operator's CRD, and another scope.
func foreignCRD() *apiextensionsv1.CustomResourceDefinition {
	definition := crd.VmGroupCRD()
	definition.Labels, definition.Annotations = nil, nil
	definition.Spec.Scope = apiextensionsv1.ClusterScoped
	definition.Spec.Names.Kind, definition.Spec.Names.ListKind = "VmGroupOfOthers", "VmGroupOfOthersList"
	return definition
}

// clusterAdmin gives a ServiceAccount all rights.
func clusterAdmin(account *corev1.ServiceAccount) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
}
