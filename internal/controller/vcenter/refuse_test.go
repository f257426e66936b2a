package vcenter

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// refusal is a VCenter whose Secret is later bound to a server.
type refusal struct {
	*testing.T
	client.Client
	*Reconciler
	vc     *v1alpha1.VCenter
	secret *corev1.Secret
	diary  diary
	dialed []*connectionForTest
}

// newRefusal begins with a Secret that names a server, and a VCenter that points at it.
func newRefusal(t *testing.T, server string) *refusal {
	t.Helper()
	f := &refusal{T: t, vc: vcenterForTest(), secret: secret("username", "u", "password", "p", "VC_HOST", server)}
	f.vc.Finalizers, f.vc.Status = []string{v1alpha1.VCenterFinalizer}, v1alpha1.VCenterStatus{}
	f.vc.Spec.Server = server
	f.vc.Spec.CredentialsSecretRef.Name = f.secret.Name
	another := f.secret.DeepCopy()
	another.Name, another.Annotations = "another", map[string]string{v1alpha1.VCenterHostsAnnotation: "another.example.com"}
	f.Client = clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithStatusSubresource(f.vc).WithObjects(f.vc, f.secret, another).Build()
	f.Reconciler = &Reconciler{
		Client: f.Client, Pool: NewPool(), Groups: &groupsForTest{}, Namespace: f.secret.Namespace, Now: time.Now, Events: events.NewFakeRecorder(100),
		Dial: func(c Config, _ vsphere.Notifier) Connection {
			made := &connectionForTest{name: c.URL, diary: &f.diary, release: make(chan struct{})}
			close(made.release)
			f.dialed = append(f.dialed, made)
			return made
		},
	}
	return f
}

// pass checks once and returns the reason of a condition, or "".
func (f *refusal) pass(conditionType string) string {
	f.Helper()
	request := reconcile.Request{NamespacedName: types.NamespacedName{Name: f.vc.Name}}
	if _, err := f.Reconcile(f.Context(), request); err != nil {
		f.Fatal(err)
	}
	if err := f.Get(f.Context(), request.NamespacedName, f.vc); err != nil {
		f.Fatal(err)
	}
	if c := meta.FindStatusCondition(f.vc.Status.Conditions, conditionType); c != nil {
		return c.Reason
	}
	return ""
}

// connects is the first connection that works.
func (f *refusal) connects() {
	f.Helper()
	f.pass(v1alpha1.ConditionReady)
	f.dialed[0].becomes(works)
	f.pass(v1alpha1.ConditionReady)
	if _, serves := f.Pool.Server(f.vc.Name); !serves {
		f.Fatal("no connection serves")
	}
}

func (f *refusal) annotate(hosts string) {
	f.Helper()
	if err := f.Get(f.Context(), client.ObjectKeyFromObject(f.secret), f.secret); err != nil {
		f.Fatal(err)
	}
	f.secret.Annotations = map[string]string{v1alpha1.VCenterHostsAnnotation: hosts}
	if err := f.Update(f.Context(), f.secret); err != nil {
		f.Fatal(err)
	}
}

// host changes the host that the Secret names without an annotation.
func (f *refusal) host(name string) {
	f.Helper()
	if err := f.Get(f.Context(), client.ObjectKeyFromObject(f.secret), f.secret); err != nil {
		f.Fatal(err)
	}
	f.secret.Data["VC_HOST"] = []byte(name)
	if err := f.Update(f.Context(), f.secret); err != nil {
		f.Fatal(err)
	}
}

func (f *refusal) edit(how func(*v1alpha1.VCenterSpec)) {
	f.Helper()
	how(&f.vc.Spec)
	if err := f.Update(f.Context(), f.vc); err != nil {
		f.Fatal(err)
	}
}

func (f *refusal) ended(url string) bool { return slices.Contains(f.diary.read(), "ended "+url) }

func (f *refusal) awaitEnd(url string) {
	f.Helper()
	await.True(f.T, url+" to be left alone", func() bool { return f.ended(url) }, func() string { return fmt.Sprint(f.diary.read()) })
}

const (
	evil = "https://evil.example.com/sdk"
	good = "https://vc.example.com/sdk"
)

// The administrator finds a wrong host in the Secret, and corrects it while the port there is still closed.
func TestAConnectionThatIsStillTryingEndsOnceTheSecretIsForAnother(t *testing.T) {
	f := newRefusal(t, evil)
	f.pass(v1alpha1.ConditionReady)
	f.annotate("vc.example.com")
	if reason := f.pass(v1alpha1.ConditionReady); reason != v1alpha1.ReasonSecretForAnotherHost {
		t.Errorf("Ready says %q", reason)
	}
	f.awaitEnd(evil)
	f.dialed[0].becomes(works)
	f.pass(v1alpha1.ConditionReady)
	if _, serves := f.Pool.Server(f.vc.Name); serves || len(f.dialed) != 1 {
		t.Errorf("it serves: %t, %d connections", serves, len(f.dialed))
	}
	f.edit(func(spec *v1alpha1.VCenterSpec) { spec.Server = good })
	f.pass(v1alpha1.ConditionReady)
	if len(f.dialed) != 2 || f.dialed[1].name != good {
		t.Errorf("the vCenter that the Secret is for is not connected to: %v", f.diary.read())
	}
}

// The Secret that the VCenter names now can differ from the one whose password would be sent.
func TestAConnectionThatIsStillTryingEndsWhateverIsWrongNow(t *testing.T) {
	f := newRefusal(t, evil)
	f.pass(v1alpha1.ConditionReady)
	f.edit(func(spec *v1alpha1.VCenterSpec) { spec.CredentialsSecretRef.Name = "not-there" })
	if reason := f.pass(v1alpha1.ConditionReady); reason != v1alpha1.ReasonSecretNotFound {
		t.Errorf("Ready says %q", reason)
	}
	f.awaitEnd(evil)
}

func TestAConnectionEndsOnceItsSecretIsForAnother(t *testing.T) {
	for how, change := range map[string]func(*refusal){
		"annotated":         func(f *refusal) { f.annotate("vc.example.com") },
		"another VC_HOST":   func(f *refusal) { f.host("vc.example.com") },
		"no VC_HOST at all": func(f *refusal) { f.host("") },
	} {
		t.Run(how, func(t *testing.T) {
			f := newRefusal(t, evil)
			f.connects()
			change(f)
			f.pass(v1alpha1.ConditionReady)
			f.awaitEnd(evil)
			if _, serves := f.Pool.Server(f.vc.Name); serves {
				t.Error("groups are served by a vCenter that the password is not for")
			}
		})
	}
}

// A mistake in a VCenter does not disconnect its groups from the vCenter.
func TestAConnectionThatItsSecretAllowsGoesOnAfterAnEdit(t *testing.T) {
	for what, edit := range map[string]func(*v1alpha1.VCenterSpec){
		"another server":             func(spec *v1alpha1.VCenterSpec) { spec.Server = evil },
		"another's Secret":           func(spec *v1alpha1.VCenterSpec) { spec.CredentialsSecretRef.Name = "another" },
		"a Secret that is not there": func(spec *v1alpha1.VCenterSpec) { spec.CredentialsSecretRef.Name = "not-there" },
		"a server that cannot be":    func(spec *v1alpha1.VCenterSpec) { spec.Server = "ftp://vc.example.com" },
	} {
		t.Run(what, func(t *testing.T) {
			f := newRefusal(t, good)
			f.annotate("vc.example.com")
			f.connects()
			f.edit(edit)
			for range 2 {
				f.pass(v1alpha1.ConditionReady)
			}
			if server, serves := f.Pool.Server(f.vc.Name); !serves || server.(*connectionForTest) != f.dialed[0] || len(f.dialed) != 1 {
				t.Errorf("the connection was closed: %v", f.diary.read())
			}
		})
	}
}
