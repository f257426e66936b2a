//go:build unix && !fast

package admission

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "kubectl" {
		if err := kubectl(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "kubectl:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestTheScriptMakesAMemberUsableAgain runs the output of `manager render --leave` in a member with all objects, while the
// hub that its webhooks call is unreachable.
func TestTheScriptMakesAMemberUsableAgain(t *testing.T) {
	cluster := localcluster.ForTest(t, "left")
	runScript(t, cluster) // no object exists yet, not even the CRDs: that is no failure

	operator, person := clientAs(t, cluster, "vmgroup-operator-test"), clientAs(t, cluster, "person")
	equip(t, cluster, operator)
	group := func() *v1alpha1.VmGroup {
		return &v1alpha1.VmGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "new"},
			Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t"},
		}
	}
	await.NoError(t, "refusal while the hub is unreachable", func() error {
		err := person.Create(t.Context(), group(), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			return fmt.Errorf("not refused by the webhook: %w", err)
		}
		return nil
	})

	runScript(t, cluster)

	for _, identity := range objects.Known() {
		left := object(identity.GroupVersionKind, "", identity.Name)
		if err := person.Get(t.Context(), client.ObjectKeyFromObject(left), left); !apierrors.IsNotFound(err) {
			t.Errorf("%s %s is still there: %v", identity.Kind, identity.Name, err)
		}
	}
	claim := &corev1.ConfigMap{}
	if err := person.Get(t.Context(), client.ObjectKey{Namespace: claimNamespace, Name: claimName}, claim); !apierrors.IsNotFound(err) {
		t.Errorf("the claim is still there: %v", err)
	}
	for name, want := range map[string][]string{"held": nil, "held-by-two": {"example.com/a", "example.com/b"}, "free": nil} {
		kept := &v1alpha1.VmGroup{}
		if err := person.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}, kept); err != nil {
			t.Errorf("group %s: %v", name, err)
		}
		if !slices.Equal(kept.Finalizers, want) {
			t.Errorf("group %s has the finalizers %v, want %v", name, kept.Finalizers, want)
		}
	}
	going := &v1alpha1.VmGroup{}
	if err := person.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "going"}, going); !apierrors.IsNotFound(err) {
		t.Errorf("a group that was being deleted is still there: %v", err)
	}
	await.NoError(t, "creation of a group", func() error { return person.Create(t.Context(), group()) })
	if err := person.Delete(t.Context(), group()); err != nil {
		t.Error(err)
	}
	runScript(t, cluster) // can be repeated
}

func TestTheScriptSaysWhenTheClusterCannotBeReached(t *testing.T) {
	output, err := script(t, filepath.Join(t.TempDir(), "no-such-kubeconfig"))
	if err == nil {
		t.Errorf("the script succeeds without a cluster and prints\n%s", output)
	}
}

func runScript(t *testing.T, cluster *localcluster.ControlPlane) {
	t.Helper()
	kubeconfig, err := cluster.UserKubeconfig("person", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := script(t, file); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// script runs the script with this test binary as kubectl.
func script(t *testing.T, kubeconfig string) (output string, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	if err := os.Symlink(self, filepath.Join(directory, "kubectl")); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "/bin/sh", "-c", LeaveScript("team-a"))
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+directory+string(os.PathListSeparator)+os.Getenv("PATH"))
	content, err := command.CombinedOutput()
	return string(content), err
}

// equip gives the cluster all objects of a hub's member, and groups.
func equip(t *testing.T, cluster *localcluster.ControlPlane, operator client.Client) {
	t.Helper()
	for _, definition := range crd.Member() {
		if err := operator.Create(t.Context(), definition); err != nil {
			t.Fatal(err)
		}
		await.NoError(t, "CRD "+definition.Name, func() error {
			if err := operator.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
				return err
			}
			for _, condition := range definition.Status.Conditions {
				if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
					return nil
				}
			}
			return errors.New("not established")
		})
	}
	// Discovery and the handlers of an API server observe a CRD after its status shows that it is established.
	await.NoError(t, "the kinds to be served", func() error {
		return errors.Join(operator.List(t.Context(), &v1alpha1.VmGroupList{}), operator.List(t.Context(), &v1alpha1.VmGroupLimitsList{}))
	})
	claim := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: claimNamespace, Name: claimName}}
	if err := operator.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	for name, finalizers := range map[string][]string{
		"held": {v1alpha1.VmGroupFinalizer}, "held-by-two": {"example.com/a", v1alpha1.VmGroupFinalizer, "example.com/b"},
		"free": nil, "going": {v1alpha1.VmGroupFinalizer},
	} {
		group := &v1alpha1.VmGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, Finalizers: finalizers},
			Spec:       v1alpha1.VmGroupSpec{CPU: 16, Memory: 64, Template: "t"},
		}
		if err := operator.Create(t.Context(), group); err != nil {
			t.Fatal(err)
		}
		if name == "going" {
			if err := operator.Delete(t.Context(), group); err != nil {
				t.Fatal(err)
			}
		}
	}
	limits, err := objects.Compile(nil, "team-a")
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := objects.Render(objects.Input{
		Member: "team-a", Limits: limits, Exempt: []string{"vmgroup-operator-test"}, ServesMutatingPolicies: true,
		WebhookBase: "https://127.0.0.1:1", Segment: "segment", CABundle: cluster.Config.CAData, FailurePolicy: v1alpha1.AdmissionFail,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range bundle.Objects {
		err := operator.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(objects.FieldManager))
		if err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

func clientAs(t *testing.T, cluster *localcluster.ControlPlane, user string) client.Client {
	t.Helper()
	scheme := allkinds.Scheme()
	config := rest.CopyConfig(cluster.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
