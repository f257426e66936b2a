package vmgroup

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A namespace may have 1.5 MiB of labels, and thousands of groups. What the cache hands out is a copy for each.
func TestLabelsOfANamespaceAreNotKeptForEachGroup(t *testing.T) {
	const groups, labels = 50, 20_000
	var m memory
	set := policy.Compile(nil)
	before := heap()
	for i := range groups {
		copied := make(map[string]string, labels)
		for n := range labels {
			copied[fmt.Sprint(n)] = ""
		}
		m.evaluate(set, vsphere.KeyOf("member", fmt.Sprint(i)), policy.Requester{Namespace: "team", NamespaceLabels: copied}, &v1alpha1.VmGroupSpec{}, "")
	}
	if after := heap(); after > before+8<<20 {
		t.Errorf("%d groups keep %d MiB", groups, (after-before)>>20)
	}
	runtime.KeepAlive(&m)
}

func TestAnotherLabelOfTheNamespaceIsAnotherQuestion(t *testing.T) {
	var m memory
	set := policy.Compile([]v1alpha1.VmGroupPolicy{{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: v1alpha1.VmGroupPolicySpec{
			Match:  v1alpha1.PolicyMatch{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b", "c": "d"}}},
			Limits: &v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Max: new(int32(1))}},
			Mode:   v1alpha1.PolicyEnforce,
		},
	}})
	for _, labels := range []map[string]string{
		{"a": "b", "c": "d"}, {"a": "d", "c": "b"}, {"c": "d", "a": "b"}, {"a": "b"}, {"ab": "", "cd": ""}, {"a": "b", "c": "d"}, nil,
	} {
		r := policy.Requester{Member: "m", Namespace: "team", NamespaceLabels: labels}
		spec := &v1alpha1.VmGroupSpec{CPU: 2}
		got, want := m.evaluate(set, "key", r, spec, ""), set.Evaluate(r, *spec, "")
		if !reflect.DeepEqual(got, want) {
			t.Errorf("labels %v: %v, want %v", labels, got, want)
		}
	}
}
