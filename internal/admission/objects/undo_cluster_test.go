//go:build unix && !fast

package objects

import (
	"fmt"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// TestAnUndoPasses edits a group in which VMs still have a shape that no policy allows any more.
func TestAnUndoPasses(t *testing.T) {
	m := newMember(t)
	group := newGroup(metav1.NamespaceDefault, "undone", 16, 32, "windows-11", 5)
	group.Spec.Placement = &v1alpha1.Placement{Datastore: "ssd"}
	group.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{ReplaceTrigger: "1"}
	m.keep(group)
	group.Status.Revisions = []v1alpha1.Revision{
		{Revision: "1-now", VMShape: v1alpha1.VMShape{CPU: 2, Memory: 2, Template: "linux-12"}},
		{Revision: "1-was", VMShape: group.Spec.Shape(), ReplaceTrigger: "1"},
		{Revision: "1-gone", VMShape: v1alpha1.VMShape{CPU: 8, Memory: 32, Template: "windows-11"}},
	}
	group.Status.VMs = []v1alpha1.VMStatus{
		{Name: "undone-0", Ordinal: 0, MoRef: "vm-1", Revision: "1-now", Phase: v1alpha1.VMReady},
		{Name: "undone-1", Ordinal: 1, MoRef: "vm-2", Revision: "1-was", Phase: v1alpha1.VMReady},
		{Name: "undone-2", Ordinal: 2, MoRef: "vm-3", Revision: "1-gone", Phase: v1alpha1.VMDeleting},
		{Name: "undone-3", Ordinal: 3, MoRef: "vm-4", Revision: "1-gone", Phase: v1alpha1.VMLost},
		{Name: "undone-4", Ordinal: 4, Revision: "1-gone", Phase: v1alpha1.VMCloning},
	}
	if err := m.operator.Status().Update(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	m.install(limited("small", 4, "8Gi", 5, "linux-*"))
	now := map[string]any{
		"cpu": 2, "memory": 2, "template": "linux-12", "placement": nil, "updateStrategy": nil, "replicas": 5, "cloneMode": "Full", "userDataSecretRef": nil, "coresPerSocket": nil,
	}
	was := map[string]any{"cpu": 16, "memory": 32, "template": "windows-11", "placement": map[string]any{"datastore": "ssd"}, "updateStrategy": map[string]any{"replaceTrigger": "1"}}
	with := func(more map[string]any) map[string]any {
		spec := maps.Clone(was)
		maps.Copy(spec, more)
		return spec
	}
	const tooMuch = `spec.cpu: Invalid value: 16: exceeds the maximum 4 of VmGroupPolicy "small"`
	for _, c := range []struct {
		story string
		spec  map[string]any
		want  string
	}{
		{"back to what a VM is", was, ""},
		{"with fewer VMs", with(map[string]any{"replicas": 4}), ""},
		{"with more VMs", with(map[string]any{"replicas": 6}), tooMuch},
		{"with another CPU", with(map[string]any{"cpu": 15}), `spec.cpu: Invalid value: 15: exceeds the maximum 4 of VmGroupPolicy "small"`},
		{"with other sockets", with(map[string]any{"coresPerSocket": 2}), tooMuch},
		{"with another memory", with(map[string]any{"memory": 31}), tooMuch},
		{"with another template", with(map[string]any{"template": "windows-12"}), tooMuch},
		{"with another datastore", with(map[string]any{"placement": map[string]any{"datastore": "hdd"}}), tooMuch},
		{"with a network", with(map[string]any{"placement": map[string]any{"datastore": "ssd", "network": "dmz"}}), tooMuch},
		{"with a resource pool", with(map[string]any{"placement": map[string]any{"datastore": "ssd", "resourcePool": "gold"}}), tooMuch},
		{"with another clone mode", with(map[string]any{"cloneMode": "Linked"}), tooMuch},
		{"with user data", with(map[string]any{"userDataSecretRef": map[string]any{"name": "s"}}), tooMuch},
		{"with another trigger", with(map[string]any{"updateStrategy": map[string]any{"replaceTrigger": "2"}}), tooMuch},
		{"back to what no VM is any more", map[string]any{"cpu": 8, "memory": 32, "template": "windows-11"}, `spec.cpu: Invalid value: 8: exceeds the maximum 4 of VmGroupPolicy "small"`},
	} {
		if err := m.patch(group, map[string]any{"spec": now}); err != nil {
			t.Fatalf("%s: the edit before: %v", c.story, err)
		}
		if got := reason(m.patch(group, map[string]any{"spec": c.spec})); got != c.want {
			t.Errorf("%s: %q, want %q", c.story, got, c.want)
		}
	}
}

// TestAnUndoThatTheMemberCannotTellPasses: status records no more than five shapes, and a VM can have another one. The hub, which sees the VM, decides.
func TestAnUndoThatTheMemberCannotTellPasses(t *testing.T) {
	m := newMember(t)
	group := newGroup(metav1.NamespaceDefault, "many", 2, 2, "linux-12", 5)
	m.keep(group)
	for i := range int32(v1alpha1.MaxRevisions) {
		group.Status.Revisions = append(group.Status.Revisions, v1alpha1.Revision{Revision: fmt.Sprint("1-", i), VMShape: v1alpha1.VMShape{CPU: 2, Memory: i + 1, Template: "linux-12"}})
	}
	group.Status.VMs = []v1alpha1.VMStatus{
		{Name: "many-0", Ordinal: 0, MoRef: "vm-1", Revision: "1-0", Phase: v1alpha1.VMReady},
		{Name: "many-1", Ordinal: 1, MoRef: "vm-2", Revision: "1-old", Phase: v1alpha1.VMReady},
	}
	m.install(limited("small", 4, "8Gi", 5, "linux-*"))
	was := map[string]any{"spec": map[string]any{"cpu": 8, "memory": 16, "template": "windows-11"}}
	const tooMuch = `spec.cpu: Invalid value: 8: exceeds the maximum 4 of VmGroupPolicy "small"`
	for _, c := range []struct {
		story  string
		change func(*v1alpha1.VmGroupStatus)
		want   string
	}{
		{"a VM has a shape that is not recorded", func(*v1alpha1.VmGroupStatus) {}, ""},
		{"fewer shapes are recorded than fit", func(s *v1alpha1.VmGroupStatus) { s.Revisions = s.Revisions[1:] }, tooMuch},
		{"that VM is about to leave", func(s *v1alpha1.VmGroupStatus) { s.VMs[1].Phase = v1alpha1.VMDeleting }, tooMuch},
		{"all shapes are recorded", func(s *v1alpha1.VmGroupStatus) { s.VMs[1].Revision = "1-1" }, tooMuch},
	} {
		shown := group.DeepCopy()
		c.change(&shown.Status)
		if err := m.operator.Get(t.Context(), client.ObjectKeyFromObject(group), group); err != nil {
			t.Fatal(err)
		}
		shown.ResourceVersion = group.ResourceVersion
		group.Status = *shown.Status.DeepCopy()
		if err := m.operator.Status().Update(t.Context(), shown); err != nil {
			t.Fatalf("%s: %v", c.story, err)
		}
		if got := reason(m.patch(group, was, client.DryRunAll)); got != c.want {
			t.Errorf("%s: %q, want %q", c.story, got, c.want)
		}
	}
}
