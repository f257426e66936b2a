package vmgroup

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestAMembersGroupsWithPercentagesAreKnownOnceAllAreListed(t *testing.T) {
	g := NewGroups()
	told := 0
	g.counted = func(string) { told++ }
	request := func(member, name string) mcreconcile.Request {
		return mcreconcile.Request{ClusterName: multicluster.ClusterName(member), Request: reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "n", Name: name}}}
	}
	see := func(member, name string, limit intstr.IntOrString) {
		t.Helper()
		g.seen(request(member, name), vsphere.KeyOf(member, name), &v1alpha1.VmGroup{
			ObjectMeta: metav1.ObjectMeta{UID: types.UID(name)}, Spec: v1alpha1.VmGroupSpec{Repair: &v1alpha1.Repair{MaxUnhealthy: &limit}},
		}, "vc")
	}
	see("m", "b", intstr.FromString("25%"))
	see("m", "a", intstr.FromString("25%"))
	see("m", "c", intstr.FromInt32(25))
	see("other", "d", intstr.FromString("25%"))
	if groups, known := g.Percentages("m"); known || groups != nil {
		t.Errorf("before all are listed it is said to be %v", groups)
	}
	g.list("m")
	expect := func(want ...string) {
		t.Helper()
		if groups, known := g.Percentages("m"); !known || !slices.Equal(groups, want) {
			t.Errorf("the groups are %v, want %v", groups, want)
		}
	}
	expect("n/a", "n/b")
	told = 0
	see("m", "a", intstr.FromString("30%")) // the same groups have percentages
	if told != 0 {
		t.Error("an edit that changes nothing about it is told")
	}
	see("m", "a", intstr.FromInt32(1))
	if told != 1 {
		t.Errorf("told %d times of a group that has none any more", told)
	}
	expect("n/b")
	g.forget(request("m", "b"))
	expect()
}
