package vmgroup

import (
	"bytes"
	"context"
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// countsSecrets counts how often a Secret is read, and how often without a deadline.
type countsSecrets struct {
	client.Reader
	read, unbounded int
}

func (c *countsSecrets) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, secret := o.(*corev1.Secret); secret {
		c.read++
		if _, bounded := ctx.Deadline(); !bounded {
			c.unbounded++
		}
	}
	return c.Reader.Get(ctx, key, o, opts...)
}

// withUserData is a group that passes a Secret to its VMs.
func withUserData(t *testing.T, change func(*corev1.Secret)) (*rig, *countsSecrets) {
	t.Helper()
	r := newRig(t)
	reads := &countsSecrets{Reader: r.member}
	r.Clusters = testCluster{client: r.member, live: reads}
	r.memberIs(func(m *fleet.Member) { m.UserDataSecrets = v1alpha1.UserDataAllow })
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cloud-init"}, Data: map[string][]byte{effect.UserDataKey: []byte("#cloud-config")}}
	change(secret)
	if err := r.member.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		s.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "cloud-init"}
	})
	return r, reads
}

// denied is the message about a Secret that reaches no VM, or empty.
func (r *rig) denied() string {
	if c := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionStalled); c != nil && c.Reason == v1alpha1.ReasonUserDataDenied {
		return c.Message
	}
	return ""
}

// recreate replaces the Secret that the group names.
func (r *rig) recreate(change func(*corev1.Secret)) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cloud-init"}}
	if err := r.member.Delete(r.t.Context(), secret); err != nil {
		r.t.Fatal(err)
	}
	secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cloud-init"}, Data: map[string][]byte{effect.UserDataKey: []byte("#cloud-config")}}
	change(secret)
	if err := r.member.Create(r.t.Context(), secret); err != nil {
		r.t.Fatal(err)
	}
}

func marked(s *corev1.Secret) { s.Labels = map[string]string{v1alpha1.UserDataLabel: "true"} }

func TestASecretThatIsNotMarkedAsUserDataClonesNothingUntilSomebodyMarksIt(t *testing.T) {
	r, _ := withUserData(t, func(*corev1.Secret) {})
	r.rounds(3)
	if told := r.denied(); !strings.HasSuffix(told, "kubectl label secret cloud-init -n team vm.codeconnect.vmworld.com/user-data=true") {
		t.Fatalf("the message is %q", told)
	}
	if n := len(r.vcenter.VMs()); n > 0 {
		t.Fatalf("%d VMs were cloned with an unmarked Secret", n)
	}
	if r.mustPass().RequeueAfter == 0 {
		t.Error("Secrets in members cause no events, but the group is not enqueued again")
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cloud-init"}}
	if err := r.member.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"`+v1alpha1.UserDataLabel+`":"true"}}}`))); err != nil {
		t.Fatal(err)
	}
	r.settle()
	if told, n := r.denied(), len(r.vcenter.VMs()); told != "" || n != 2 {
		t.Errorf("with a marked Secret: %d VMs, message %q", n, told)
	}
}

func TestASecretOfTheTypeOrWithTheLabelIsUserData(t *testing.T) {
	for story, change := range map[string]func(*corev1.Secret){
		"label": marked,
		"type":  func(s *corev1.Secret) { s.Type = v1alpha1.UserDataType },
	} {
		r, reads := withUserData(t, change)
		r.settle()
		if told := r.denied(); told != "" || len(r.vcenter.VMs()) != 2 {
			t.Errorf("%s: %d VMs, message %s", story, len(r.vcenter.VMs()), told)
		}
		if reads.read == 0 {
			t.Errorf("%s: the Secret was not read", story)
		}
	}
}

// A token gives access to the cluster to users who can view VMs in vCenter. No mark makes user data of it.
func TestASecretThatAControllerWritesIsNoUserData(t *testing.T) {
	for _, of := range []corev1.SecretType{corev1.SecretTypeServiceAccountToken, corev1.SecretTypeBootstrapToken, "helm.sh/release.v1"} {
		for _, labels := range []map[string]string{nil, {v1alpha1.UserDataLabel: "true"}} {
			r, _ := withUserData(t, func(s *corev1.Secret) { s.Type, s.Labels = of, labels })
			r.rounds(3)
			told, n := r.denied(), len(r.vcenter.VMs())
			if n > 0 || !strings.Contains(told, string(of)) || strings.Contains(told, "kubectl label") || !strings.Contains(told, "of type "+v1alpha1.UserDataType) {
				t.Errorf("%s, labels %v: %d VMs, message %q", of, labels, n, told)
			}
			// A user names a Secret that is user data, under the same name: the operator gets no event.
			r.recreate(func(s *corev1.Secret) { s.Type = v1alpha1.UserDataType })
			r.settle()
			if told, n := r.denied(), len(r.vcenter.VMs()); told != "" || n != 2 {
				t.Errorf("%s, labels %v, another Secret: %d VMs, message %q", of, labels, n, told)
			}
		}
	}
}

// The operator reads a Secret only for a clone: later changes of the Secret do not affect running VMs.
func TestAGroupWhoseVMsAreAllThereReadsNoSecret(t *testing.T) {
	r, reads := withUserData(t, marked)
	r.settle()
	r.recreate(func(*corev1.Secret) {})
	r.memory = memory{} // a restart
	reads.read = 0
	for range 20 {
		r.mustPass()
	}
	if told := r.denied(); told != "" || reads.read > 0 || len(r.vcenter.VMs()) != 2 {
		t.Errorf("%d reads, %d VMs, message %q", reads.read, len(r.vcenter.VMs()), told)
	}
}

// TestAMemberIsNotWaitedForWithoutEnd: a pass holds a worker that groups of other members need.
func TestAMemberIsNotWaitedForWithoutEnd(t *testing.T) {
	r, reads := withUserData(t, marked)
	r.settle()
	if reads.read == 0 || reads.unbounded > 0 {
		t.Errorf("of %d reads of a Secret %d had no deadline", reads.read, reads.unbounded)
	}
}

func TestUserDataThatAGuestCannotReadClonesNothingUntilItIsShorter(t *testing.T) {
	data := make([]byte, 200016)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	r, _ := withUserData(t, func(s *corev1.Secret) {
		marked(s)
		s.Data[effect.UserDataKey] = data
	})
	for range 4 {
		r.mustPass()
	}
	ready := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != v1alpha1.ReasonUserDataTooLarge || !strings.Contains(ready.Message, `Secret "cloud-init"`) ||
		!strings.Contains(ready.Message, "200016 bytes") || !strings.Contains(ready.Message, "a guest can read 65536") {
		t.Errorf("condition Ready is %+v", ready)
	}
	if n := len(r.vcenter.VMs()); n > 0 {
		t.Fatalf("%d VMs are cloned with user data that they cannot read", n)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cloud-init"}}
	if err := r.member.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		t.Fatal(err)
	}
	secret.Data[effect.UserDataKey] = []byte("#cloud-config")
	if err := r.member.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	r.settle()
	if n := len(r.vcenter.VMs()); n != 2 {
		t.Errorf("%d VMs once the user data is shorter, want 2", n)
	}
}

func TestAKeyForIgnitionIsHandedOnFromASecretThatIsMarked(t *testing.T) {
	config := []byte(`{"ignition":{"version":"3.4.0"}}`)
	r, _ := withUserData(t, func(s *corev1.Secret) { s.Type, s.Data = v1alpha1.UserDataType, map[string][]byte{"ignition": config} })
	r.settle()
	vms := r.vcenter.VMs()
	if len(vms) != 2 {
		t.Fatalf("%d VMs", len(vms))
	}
	info := r.vcenter.GuestInfo(vms[0].Name)
	if got, err := base64.StdEncoding.DecodeString(info[vsphere.GuestIgnition]); err != nil || !bytes.Equal(got, config) || info[vsphere.GuestIgnitionEncoding] != "base64" {
		t.Errorf("the guest reads %v", info)
	}
	if _, has := info[vsphere.GuestUserData]; has {
		t.Errorf("cloud-init gets %q", info[vsphere.GuestUserData])
	}

	r, _ = withUserData(t, func(s *corev1.Secret) { s.Data["ignition"] = config })
	r.rounds(3)
	refused := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionStalled)
	if n := len(r.vcenter.VMs()); n > 0 || refused == nil || refused.Reason != v1alpha1.ReasonUserDataDenied ||
		!strings.HasSuffix(refused.Message, "kubectl label secret cloud-init -n team vm.codeconnect.vmworld.com/user-data=true") {
		t.Errorf("not marked: %d VMs, %+v", n, refused)
	}
}

func TestAVMSaysInVCenterWhoseItIs(t *testing.T) {
	r := newRig(t)
	r.settle()
	for _, vm := range r.vcenter.VMs() {
		note := r.vcenter.Note(vm.Name)
		if !strings.HasPrefix(note, vm.Name+" was made for VmGroup "+r.group().Name+" in namespace team of member cluster ") {
			t.Errorf("%s says %q", vm.Name, note)
		}
	}
}
