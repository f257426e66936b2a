package vmgroup

import (
	"bytes"
	"context"
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
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

// withUserData is a group that hands a Secret to its VMs.
func withUserData(t *testing.T, change func(*corev1.Secret)) (*rig, *countsSecrets) {
	t.Helper()
	r := newRig(t)
	reads := &countsSecrets{Reader: r.member}
	r.Clusters = testCluster{client: r.member, live: reads}
	r.memberIs(func(m *fleet.Member) { m.UserDataSecrets = v1alpha1.UserDataAllow })
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cloud-init"}, Data: map[string][]byte{userDataKey: []byte("#cloud-config")}}
	change(secret)
	if err := r.member.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		s.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "cloud-init"}
	})
	return r, reads
}

func (r *rig) unmarked() *metav1.Condition {
	return meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionUnmarkedUserData)
}

func TestASecretThatIsNotMarkedAsUserDataIsToldUntilSomebodyMarksIt(t *testing.T) {
	r, reads := withUserData(t, func(*corev1.Secret) {})
	r.settle()
	told := r.unmarked()
	if told == nil || told.Status != metav1.ConditionTrue || !strings.HasSuffix(told.Message, "kubectl label secret cloud-init -n team vm.codeconnect.vmworld.com/user-data=true") {
		t.Fatalf("told %+v", told)
	}
	if len(r.vcenter.VMs()) != 2 {
		t.Fatalf("%d VMs: this release clones with it", len(r.vcenter.VMs()))
	}

	// After a restart a group that clones nothing hears of it as well: then it is in time.
	r.memory = memory{}
	r.status(func(s *v1alpha1.VmGroupStatus) {
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionUnmarkedUserData)
	})
	r.mustPass()
	if r.unmarked() == nil {
		t.Error("a group whose VMs are all there is not told")
	}
	reads.read = 0
	for range 20 {
		r.mustPass()
	}
	if reads.read > 0 {
		t.Errorf("20 passes read the Secret %d times", reads.read)
	}

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cloud-init"}}
	if err := r.member.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"`+v1alpha1.UserDataLabel+`":"true"}}}`))); err != nil {
		t.Fatal(err)
	}
	if after := r.mustPass().RequeueAfter; after == 0 || after > group.UserDataInterval {
		t.Errorf("it is looked at again after %s", after)
	}
	r.now = r.now.Add(group.UserDataInterval + time.Second)
	r.mustPass()
	if told := r.unmarked(); told != nil {
		t.Errorf("it is marked, and told: %s", told.Message)
	}
	reads.read = 0
	r.now = r.now.Add(24 * time.Hour)
	if result := r.mustPass(); reads.read > 0 || result.RequeueAfter != 0 {
		t.Errorf("a marked Secret is read %d times a day, and looked at after %s", reads.read, result.RequeueAfter)
	}
}

func TestASecretOfTheTypeOrWithTheLabelIsUserData(t *testing.T) {
	for story, change := range map[string]func(*corev1.Secret){
		"label": func(s *corev1.Secret) { s.Labels = map[string]string{v1alpha1.UserDataLabel: "true"} },
		"type":  func(s *corev1.Secret) { s.Type = v1alpha1.UserDataType },
	} {
		r, reads := withUserData(t, change)
		r.settle()
		if told := r.unmarked(); told != nil {
			t.Errorf("%s: told %s", story, told.Message)
		}
		if reads.read == 0 {
			t.Errorf("%s: nobody read the Secret", story)
		}
	}
	if isUserData(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.UserDataLabel: "false"}}}) {
		t.Error("the label says that it is none")
	}
}

// A token opens the cluster to whoever may look into VMs in vCenter. No mark makes user data of it.
func TestASecretThatAControllerWritesIsNoUserData(t *testing.T) {
	for _, of := range []corev1.SecretType{corev1.SecretTypeServiceAccountToken, corev1.SecretTypeBootstrapToken, "helm.sh/release.v1"} {
		for _, labels := range []map[string]string{nil, {v1alpha1.UserDataLabel: "true"}} {
			r, _ := withUserData(t, func(s *corev1.Secret) { s.Type, s.Labels = of, labels })
			r.rounds(3)
			refused := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionStalled)
			if n := len(r.vcenter.VMs()); n > 0 || refused == nil || refused.Reason != v1alpha1.ReasonUserDataDenied || !strings.Contains(refused.Message, string(of)) {
				t.Errorf("%s, labels %v: %d VMs, %+v", of, labels, n, refused)
			}
			told := r.unmarked()
			if told == nil || told.Reason != v1alpha1.ReasonUserDataTypeRefused || strings.Contains(told.Message, "kubectl label") || !strings.Contains(told.Message, "of type "+v1alpha1.UserDataType) {
				t.Errorf("%s, labels %v: told %+v", of, labels, told)
			}

			// Somebody names a Secret that is user data, under the same name: nothing tells the operator.
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cloud-init"}}
			if err := r.member.Delete(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			secret = &corev1.Secret{ObjectMeta: secret.ObjectMeta, Type: v1alpha1.UserDataType, Data: map[string][]byte{userDataKey: []byte("#cloud-config")}}
			secret.ResourceVersion = ""
			if err := r.member.Create(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			r.now = r.now.Add(group.UserDataInterval + time.Second)
			r.settle()
			if told := r.unmarked(); told != nil || len(r.vcenter.VMs()) != 2 {
				t.Errorf("%s, labels %v, another Secret: %d VMs, told %+v", of, labels, len(r.vcenter.VMs()), told)
			}
		}
	}
}

// A group whose VMs are all there is told before it needs a clone.
func TestAGroupWithVMsIsToldThatItsSecretIsNoUserData(t *testing.T) {
	r, _ := withUserData(t, func(s *corev1.Secret) { s.Labels = map[string]string{v1alpha1.UserDataLabel: "true"} })
	r.settle()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cloud-init"}}
	if err := r.member.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		t.Fatal(err)
	}
	if err := r.member.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	secret.ResourceVersion, secret.Type = "", corev1.SecretTypeServiceAccountToken
	if err := r.member.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	r.memory = memory{} // a restart
	r.mustPass()
	if told := r.unmarked(); told == nil || told.Reason != v1alpha1.ReasonUserDataTypeRefused {
		t.Errorf("told %+v", told)
	}
	if len(r.vcenter.VMs()) != 2 {
		t.Errorf("%d VMs", len(r.vcenter.VMs()))
	}
}

func TestNothingIsToldOfUserDataThatIsGoneOrNobodyMayRead(t *testing.T) {
	r, reads := withUserData(t, func(*corev1.Secret) {})
	r.settle()
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.UserDataSecretRef = nil })
	r.work()
	if told := r.unmarked(); told != nil {
		t.Errorf("spec names no Secret, and told is: %s", told.Message)
	}
	r.memory, reads.read = memory{}, 0
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "missing"} })
	r.mustPass()
	r.mustPass()
	if told := r.unmarked(); told != nil {
		t.Errorf("nobody has seen the Secret, and told is: %s", told.Message)
	}
}

// TestAMemberIsNotWaitedForWithoutEnd: a pass holds a worker that groups of other members need.
func TestAMemberIsNotWaitedForWithoutEnd(t *testing.T) {
	r, reads := withUserData(t, func(*corev1.Secret) {})
	r.settle()
	if reads.read == 0 || reads.unbounded > 0 {
		t.Errorf("of %d reads of a Secret %d had no deadline", reads.read, reads.unbounded)
	}
}

// TestAllSecretsOfAPassHaveAsMuchTimeAsOne: a worker waits no longer for a member that answers slowly, however many older revisions a group has.
func TestAllSecretsOfAPassHaveAsMuchTimeAsOne(t *testing.T) {
	r := newRig(t)
	reads := &deadlines{Reader: r.member}
	p := &pass{r: r.Reconciler, live: reads}
	if _, err := p.readSecrets(t.Context(), &group.Snapshot{Group: r.group()}, []string{"one", "two", "three"}); err != nil {
		t.Fatal(err)
	}
	if len(reads.seen) != 3 || reads.seen[0].IsZero() || !reads.seen[0].Equal(reads.seen[2]) {
		t.Errorf("the reads may last until %v", reads.seen)
	}
}

// deadlines notes by when each read has to end.
type deadlines struct {
	client.Reader
	seen []time.Time
}

func (d *deadlines) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	at, _ := ctx.Deadline()
	d.seen = append(d.seen, at)
	return d.Reader.Get(ctx, key, o, opts...)
}

func TestUserDataThatAGuestCannotReadClonesNothingUntilItIsShorter(t *testing.T) {
	data := make([]byte, 200016)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	r, _ := withUserData(t, func(s *corev1.Secret) { s.Data[userDataKey] = data })
	for range 4 {
		r.mustPass()
	}
	ready := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != v1alpha1.ReasonUserDataTooLarge || !strings.Contains(ready.Message, `Secret "cloud-init"`) ||
		!strings.Contains(ready.Message, "200016 bytes") || !strings.Contains(ready.Message, "a guest can read 65536") {
		t.Errorf("told %+v", ready)
	}
	if n := len(r.vcenter.VMs()); n > 0 {
		t.Fatalf("%d VMs are cloned with user data that they cannot read", n)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cloud-init"}}
	if err := r.member.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		t.Fatal(err)
	}
	secret.Data[userDataKey] = []byte("#cloud-config")
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
	r, _ := withUserData(t, func(s *corev1.Secret) { s.Type, s.Data = v1alpha1.UserDataType, map[string][]byte{ignitionKey: config} })
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

	r, _ = withUserData(t, func(s *corev1.Secret) { s.Data[ignitionKey] = config })
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
