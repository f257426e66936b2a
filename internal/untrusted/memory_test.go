package untrusted

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// TestTheSizeOfAGroupIsThatOfItsParts: a limit that counts too little is none.
func TestTheSizeOfAGroupIsThatOfItsParts(t *testing.T) {
	bare := MemorySize(&v1alpha1.VmGroup{})
	at, replicas := metav1.Now(), int32(3)
	g := &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("n", 100), DeletionTimestamp: &at, Labels: map[string]string{strings.Repeat("k", 100): strings.Repeat("v", 100)}},
		Spec:       v1alpha1.VmGroupSpec{Replicas: &replicas},
		Status:     v1alpha1.VmGroupStatus{VMs: make([]v1alpha1.VMStatus, 10)},
	}
	g.Status.VMs[9].Name = strings.Repeat("m", 100)
	meta.SetStatusCondition(&g.Status.Conditions, metav1.Condition{Type: "Ready", Message: strings.Repeat("w", 1000)})
	if bare < 500 || bare > 5000 {
		t.Errorf("an empty group has %d bytes", bare)
	}
	if more := MemorySize(g) - bare; more < 1400+10*100 || more > 1400+10*1000 {
		t.Errorf("a group with content has %d bytes more", more)
	}
	if MemorySize(nil) != 0 || MemorySize((*v1alpha1.VmGroup)(nil)) != 0 {
		t.Error("nothing has a size")
	}
}
