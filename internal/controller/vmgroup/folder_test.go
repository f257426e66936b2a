package vmgroup

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestAGroupsFolderIsItsOwnForEver(t *testing.T) {
	named := func(uid types.UID) *v1alpha1.VmGroup {
		return &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: uid}}
	}
	if folderName(named("00000000-x")) == folderName(named("11111111-x")) {
		t.Error("a group that was created again would find the VMs of its predecessor")
	}
}
