package effect

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

var since = metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

// vmOf returns a row as large as those of real groups.
func vmOf(ordinal int32) v1alpha1.VMStatus {
	return v1alpha1.VMStatus{
		Name: fmt.Sprint("web-", ordinal), Ordinal: ordinal, UUID: fmt.Sprintf("6d1b1c5e-0000-4000-8000-%012d", ordinal), MoRef: fmt.Sprint("vm-", 1000+ordinal),
		Phase: v1alpha1.VMReady, PowerState: "PoweredOn", IPAddress: fmt.Sprint("10.0.0.", ordinal%250), Revision: "1f2e3d4c", CloneMode: "Full",
		StartTime: &since, ReadySince: &since,
	}
}

// large returns a group with a number of VMs.
func large(vms int32) *v1alpha1.VmGroup {
	g := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", ResourceVersion: "41"}}
	g.Status = v1alpha1.VmGroupStatus{ObservedGeneration: 3, Phase: v1alpha1.PhaseRunning, Replicas: vms, ReadyReplicas: vms, LastMessage: "ready"}
	for i := range vms {
		g.Status.VMs = append(g.Status.VMs, vmOf(i))
	}
	g.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: since, Message: "all VMs are ready"}}
	return g
}

// changed changes a status at random, as a pass can.
func changed(random *rand.Rand, s *v1alpha1.VmGroupStatus) {
	for range 1 + random.IntN(4) {
		switch at := random.IntN(len(s.VMs) + 1); random.IntN(8) {
		case 0:
			s.VMs = nil
		case 1:
			s.VMs = slices.Insert(s.VMs, at, vmOf(random.Int32N(1000)))
		case 2:
			if at < len(s.VMs) {
				s.VMs = slices.Delete(s.VMs, at, at+1)
			}
		case 3:
			for i := range s.VMs {
				s.VMs[i].Revision = fmt.Sprint(random.Uint32())
			}
		case 4:
			if at < len(s.VMs) {
				s.VMs[at].IPAddress, s.VMs[at].ReadySince = fmt.Sprint("10.1.", at/250, ".", at%250), nil
			}
		case 5:
			s.Conditions = append(s.Conditions, metav1.Condition{Type: fmt.Sprint("C", random.IntN(1000)), LastTransitionTime: since})
		case 6:
			if len(s.Conditions) > 0 {
				s.Conditions = s.Conditions[1:]
			}
		case 7:
			s.ReadyReplicas, s.Admitted, s.Deleting = random.Int32N(3), nil, []int32{random.Int32N(9)}
			if random.IntN(2) == 0 {
				s.Deleting = nil
			}
		}
	}
}

// A patch that changes another element than the intended one would give a VM the identity of another.
func TestAPatchOfStatusStoresExactlyTheNextStatus(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 2000 {
		group := large(random.Int32N(40))
		changed(random, &group.Status)
		next := group.DeepCopy()
		changed(random, &next.Status)
		data, err := statusPatch{group}.Data(next)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonpatch.DecodePatch(data)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		stored, err := json.Marshal(group)
		if err != nil {
			t.Fatal(err)
		}
		if stored, err = patch.Apply(stored); err != nil {
			t.Fatalf("round %d: %v\n%s", round, err, data)
		}
		got := &v1alpha1.VmGroup{}
		if err := json.Unmarshal(stored, got); err != nil {
			t.Fatal(err)
		}
		if !equality.Semantic.DeepEqual(got, next) {
			t.Fatalf("round %d: the API server stores\n%+v\nwant\n%+v\nthe patch is %s", round, got.Status, next.Status, data)
		}
	}
}

func TestTheChangeOfOneVMOfFiveHundredIsASmallPatch(t *testing.T) {
	const most = 2000 // bytes
	for story, change := range map[string]func(*v1alpha1.VmGroupStatus){
		"an address": func(s *v1alpha1.VmGroupStatus) { s.VMs[250].IPAddress = "10.0.9.9" },
		"a VM that is not ready": func(s *v1alpha1.VmGroupStatus) {
			s.VMs[250].Phase, s.VMs[250].ReadySince, s.ReadyReplicas, s.LastMessage = v1alpha1.VMStarting, nil, 499, "499 of 500 VMs are ready"
			s.Conditions[0].Status, s.Conditions[0].Message = metav1.ConditionFalse, "499 of 500 VMs are ready"
		},
		"a new VM":     func(s *v1alpha1.VmGroupStatus) { s.VMs, s.Replicas = append(s.VMs, vmOf(500)), 501 },
		"a deleted VM": func(s *v1alpha1.VmGroupStatus) { s.VMs, s.Replicas = slices.Delete(s.VMs, 7, 8), 499 },
	} {
		t.Run(story, func(t *testing.T) {
			group := large(500)
			next := group.DeepCopy()
			change(&next.Status)
			data, err := statusPatch{group}.Data(next)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > most {
				t.Errorf("the patch has %d bytes, want %d at most: %s", len(data), most, data[:most])
			}
		})
	}
}

// BenchmarkStatusPatch compares the patch for one changed address in a group of 500 VMs with a merge patch.
func BenchmarkStatusPatch(b *testing.B) {
	group := large(500)
	next := group.DeepCopy()
	next.Status.VMs[250].IPAddress = "10.0.9.9"
	for name, patch := range map[string]client.Patch{"json": statusPatch{group}, "merge": mergePatch(group)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				data, err := patch.Data(next)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(data)), "bytes/patch")
			}
		})
	}
}
