package vmgroup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/go-logr/logr"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	operatorevents "github.com/codeconnect/vmgroup-operator/internal/events"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// hostile returns text that clears a terminal, turns the direction of writing, breaks lines, hides a character, and is long.
func hostile(what string) string {
	return what + "\x1b[2J\u009b31m\u202egnp.exe\u2066\r\nroot@hub:~# rm\u200b\ufeff\xff" + strings.Repeat("A", 10_000)
}

// writesEvents is a member whose recorder is the operator's own.
type writesEvents struct {
	testCluster
	recorder *operatorevents.Recorder
}

func (c writesEvents) GetEventRecorder(string) events.EventRecorder { return c.recorder }

func (c writesEvents) GetCluster(context.Context, multicluster.ClusterName) (cluster.Cluster, error) {
	return c, nil
}

// harmless fails for each string below that could control a terminal, or is endless.
func harmless(t *testing.T, where string, what any) {
	t.Helper()
	raw, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	var walk func(string, any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key := range v {
				walk(at+"."+key, v[key])
			}
		case []any:
			for i := range v {
				walk(fmt.Sprintf("%s[%d]", at, i), v[i])
			}
		case string:
			if i := strings.IndexFunc(v, func(r rune) bool { return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Bidi_Control) }); i >= 0 {
				t.Errorf("%s has %+.30q at %d: %+.200q", at, v[i:], i, v)
			}
			if len(v) > 4096 {
				t.Errorf("%s has %d bytes", at, len(v))
			}
		}
	}
	walk(where, tree)
}

// Users of vCenter can choose any names, and a vCenter can give any answer: any terminal can show status and events, and no VM changes its owner by
// its name.
func TestForeignTextReachesStatusAndEventsOnlyTreated(t *testing.T) {
	r := newRig(t)
	recorder := operatorevents.New(operatorevents.Options{
		Client: r.member, Instance: "replica-0", Now: func() time.Time { return r.now }, Log: logr.Discard(), Retry: operatorevents.DefaultRetry(),
	})
	r.Clusters = writesEvents{testCluster{client: r.member}, recorder}
	r.settle()
	before := r.references()
	folder := vsphere.FolderRef(r.group().Status.Folder.MoRef)
	look := func(when string) {
		t.Helper()
		harmless(t, when+": status", r.group().Status)
	}
	byHand := r.vcenter.ByHand()

	evil := hostile("web-0")
	byHand.Rename("web-0", evil)
	byHand.Edit(evil, func(vm *vsphere.VM) { vm.GuestIP = hostile("10.0.0.1") })
	byHand.AddForeignVM(folder, hostile("db"))
	byHand.RenameFolder(folder, hostile("folder"))
	r.work()
	look("renamed")
	g := r.group()
	for ref := range before {
		if !strings.Contains(fmt.Sprint(g.Status.VMs), ref.Value) {
			t.Errorf("%s is not the group's any more: its name decided", ref)
		}
	}
	if len(r.references()) != len(before)+1 {
		t.Errorf("there were %d VMs of the group, and there are %d in all", len(before), len(r.references()))
	}
	const shown = `web-0�[2J�31m�gnp.exe� root@hub:~# rm�AAAA`
	if vm := g.Status.VMs[0]; !strings.Contains(vm.Message, shown) {
		t.Errorf("the VM's message lacks the name: %q", vm.Message)
	}
	if c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionForeignVMs); c == nil || !strings.Contains(c.Message, `"db�[2J`) {
		t.Errorf("condition ForeignVMs does not quote the foreign VM: %+v", c)
	}

	r.edit(func(spec *v1alpha1.VmGroupSpec) { *spec.Replicas = 3 })
	r.vcenter.FailTask(vsphere.OpClone, 1, &vsphere.Error{Kind: vsphere.KindSpec, Op: "clone " + hostile("x"), Err: errors.New(hostile("fault"))})
	r.rounds(2)
	look("refused")
	if text := fmt.Sprint(r.group().Status); !strings.Contains(text, "fault�[2J") && !strings.Contains(text, "clone x�[2J") {
		t.Errorf("status does not report the fault: %s", text)
	}

	r.vcenter.SetIncomplete(hostile("incomplete"))
	r.rounds(2)
	look("incomplete")
	r.vcenter.SetIncomplete("")
	r.vcenter.Disconnect(&vsphere.Error{Kind: vsphere.KindTransient, Op: "connect", Err: errors.New(hostile("503"))})
	r.rounds(2)
	look("away")

	// The recorder reports in order: once the last has arrived, all have.
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = recorder.Start(ctx) }()
	defer func() { cancel(); <-done }()
	recorder.Eventf(r.group(), nil, "Normal", "Last", "Test", "%s", hostile("last"))
	list := &eventsv1.EventList{}
	for !strings.Contains(fmt.Sprint(list.Items), "Last") {
		if err := r.member.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	if len(list.Items) < 3 {
		t.Fatalf("got %d events, want 3 or more", len(list.Items))
	}
	harmless(t, "events", list.Items)
}
