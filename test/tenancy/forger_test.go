//go:build unix

package tenancy

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
)

// forger creates VmGroups that violate the schema, from the data that the attacker can have about the victims. broken
// creates those that the operator cannot decode. Names that Kubernetes does not allow would end the attack: see
// TestAGroupInANamespaceThatIsAPathGetsNoVM.
type forger struct {
	*rand.Rand
	a       *attacker
	victims []*guarded
	count   int
}

func newForger(seed uint64, a *attacker, victims ...*guarded) *forger {
	return &forger{Rand: rand.New(rand.NewPCG(seed, seed)), a: a, victims: victims}
}

// pick is one of these.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// chance is true once in n times.
func (f *forger) chance(n int) bool { return f.IntN(n) == 0 }

// group is the next group that the operator can decode.
func (f *forger) group() hostileapi.Object {
	f.count++
	of := pick(f.Rand, f.victims...)
	is := of.get(of.name)
	is.Status.Conditions = nil // they contain the victim's secrets: see copied
	o := hostileapi.ObjectOf(is)
	delete(o, "status")
	o["metadata"] = f.metadata(is)
	if !f.chance(8) {
		o["spec"] = f.spec(is)
	}
	if !f.chance(4) {
		o["status"] = f.status(is)
	}
	return o
}

func (f *forger) metadata(of *v1alpha1.VmGroup) hostileapi.Object {
	uid := string(of.UID)
	m := hostileapi.Object{
		"name": pick(f.Rand, of.Name, of.Name, fmt.Sprintf("forged-%d", f.count), fmt.Sprintf("forged-%d", f.IntN(f.count)),
			fmt.Sprintf("forged-%d", f.count), strings.Repeat("n", pick(f.Rand, 63, 64, 253)), "a.b-c"),
		"namespace":       pick(f.Rand, f.a.namespace, f.a.namespace, f.a.namespace, of.Namespace, of.Namespace, "default"),
		"uid":             pick(f.Rand, uid, uid, uid, uid[:8]+"-0000", uid[:8], fmt.Sprintf("%08x-forged", f.Uint32()), "u", "A_b.c", strings.Repeat("u", 64)),
		"resourceVersion": pick(f.Rand, "", "1", of.ResourceVersion, "18446744073709551615", strings.Repeat("9", 40), "-1", "no number"),
		"generation":      pick[int64](f.Rand, 1, of.Generation, 0, -1, math.MaxInt64),
	}
	m["creationTimestamp"] = pick[any](f.Rand, of.CreationTimestamp, "1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z", nil)
	if f.chance(20) {
		m[pick(f.Rand, "name", "namespace")] = "nowhere"
	}
	if f.chance(3) {
		m["deletionTimestamp"] = pick(f.Rand, "2026-01-01T00:00:00Z", "2999-01-01T00:00:00Z")
	}
	ours, legacy := v1alpha1.VmGroupFinalizer, v1alpha1.LegacyFinalizer
	m["finalizers"] = pick(f.Rand, nil, nil, []string{ours}, []string{ours}, []string{legacy}, []string{ours, legacy}, []string{ours, ours}, []string{"a.stranger/s"})
	m["annotations"] = pick(f.Rand, nil, nil, map[string]string{v1alpha1.PausedAnnotation: "true"},
		map[string]string{v1alpha1.AdoptAnnotation: v1alpha1.AdoptAbandon}, map[string]string{v1alpha1.AdoptAnnotation: v1alpha1.AdoptLegacy},
		map[string]string{v1alpha1.AdoptAnnotation: "both", v1alpha1.AcceptInstanceAnnotation: "any", v1alpha1.TakeClusterUIDAnnotation: uid})
	return m
}

// spec rarely requests valid VMs: they are the attacker's own, and cost time.
func (f *forger) spec(of *v1alpha1.VmGroup) hostileapi.Object {
	spec := hostileapi.Object{
		"cpu": pick(f.Rand, 1, 1, 0, -1, 768, 769, math.MaxInt32), "memory": pick(f.Rand, 1, 1, 0, -1, 24576, 24577, math.MaxInt32),
		"template": pick(f.Rand, "no-such-template", "", strings.Repeat("t", 300), "/DC0/vm/vm-operator/*"),
		"replicas": pick[any](f.Rand, 0, 0, 0, 1, 2, 500, 501, -1, math.MaxInt32, nil),
	}
	if f.chance(10) {
		spec["template"], spec["cpu"], spec["memory"], spec["replicas"] = template, 1, 1, 1
	}
	optional := func(field string, values ...any) {
		if f.chance(4) {
			spec[field] = pick(f.Rand, values...)
		}
	}
	optional("vcenter", "default", "nowhere", strings.Repeat("v", 300))
	optional("powerState", "PoweredOff", "PoweredOn", "Suspended")
	optional("cloneMode", "Linked", "Full", "Any")
	optional("deletionPolicy", "Delete", "Retain", "Burn")
	optional("paused", true, false)
	optional("placement", hostileapi.Object{"datastore": "no-such", "resourcePool": "/", "network": strings.Repeat("p", 300)})
	optional("repair", hostileapi.Object{"mode": "Observe"}, hostileapi.Object{"mode": "Break", "maxUnhealthy": "200%"})
	optional("scaleDown", hostileapi.Object{"order": "Oldest", "deleteFirst": []string{of.Name + "-0", "", strings.Repeat("d", 300)}})
	optional("readiness", hostileapi.Object{"gate": "GuestIP", "minReadySeconds": -1, "progressDeadlineSeconds": math.MaxInt32})
	optional("shutdown", hostileapi.Object{"mode": "Hard"}, hostileapi.Object{"mode": "Never", "timeoutSeconds": math.MinInt32}, hostileapi.Object{"timeoutSeconds": math.MaxInt32})
	optional("updateStrategy", hostileapi.Object{"type": "Any", "maxSurge": -1, "maxUnavailable": "a%"})
	optional("userDataSecretRef", hostileapi.Object{"name": "no-such"}, hostileapi.Object{"name": "../../kube-system"})
	return spec
}

// status is the victim's own status, or a forged one that refers to the victim's folder and VMs.
func (f *forger) status(of *v1alpha1.VmGroup) any {
	if f.chance(4) {
		return of.Status
	}
	folder := of.Status.Folder
	status := hostileapi.Object{
		"observedGeneration":  pick[int64](f.Rand, 0, 1, of.Generation, math.MaxInt64),
		"phase":               pick(f.Rand, "RUNNING", "ERROR", "", "DONE"),
		"replicas":            pick(f.Rand, 0, 2, -1, math.MaxInt32),
		"vcenter":             pick(f.Rand, "", "default", "nowhere"),
		"vcenterInstanceUuid": pick(f.Rand, "", of.Status.VCenterInstanceUUID, "another"),
		"ownership":           pick[any](f.Rand, nil, of.Status.Ownership, epoch(math.MaxInt64, math.MaxInt64), epoch(-1, -1), epoch(of.Status.Ownership.Epoch.Generation, math.MaxInt64)),
		"folder": pick[any](f.Rand, nil, folder, folder, hostileapi.Object{"moRef": folder.MoRef}, hostileapi.Object{"moRef": "group-v3", "path": folder.Path},
			hostileapi.Object{"moRef": "group-v99999", "path": strings.Repeat("f", 2000)}, hostileapi.Object{"moRef": of.Status.VMs[0].MoRef}, hostileapi.Object{"path": folder.Path}),
		"vms":      f.vms(of),
		"deleting": pick(f.Rand, nil, nil, []int{0, 1, 2}, []int{-1, math.MaxInt32, 0, 0}),
	}
	if f.chance(3) {
		status["admitted"] = hostileapi.Object{
			"revision": pick(f.Rand, of.Status.CurrentRevision, "any"), "replicas": pick(f.Rand, 2, 500, -1, math.MaxInt32), "cpu": pick(f.Rand, 1, 768, -1),
			"memory": pick(f.Rand, 1, -1), "template": pick(f.Rand, "no-such-template", ""),
		}
	}
	return status
}

func epoch(generation, number int64) hostileapi.Object {
	return hostileapi.Object{"epoch": hostileapi.Object{"generation": generation, "number": number}}
}

// vms are the VMs in status: references of all victims' VMs, and invalid ones.
func (f *forger) vms(of *v1alpha1.VmGroup) []hostileapi.Object {
	var refs, uuids []string
	for _, g := range f.victims {
		for ref, vm := range g.kept {
			refs, uuids = append(refs, ref), append(uuids, vm.UUID)
		}
	}
	refs = append(refs, "", "vm-1", "vm-99999", "VirtualMachine:vm-1")
	vms := make([]hostileapi.Object, f.IntN(5))
	for n := range vms {
		i := f.IntN(len(refs))
		vms[n] = hostileapi.Object{
			"name": pick(f.Rand, of.Name+"-0", "any", ""), "ordinal": pick(f.Rand, 0, 1, 2, -1, math.MaxInt32), "moRef": refs[i],
			"uuid": pick(f.Rand, "", uuids[i%len(uuids)], "no uuid"), "incarnation": pick(f.Rand, 0, 1, -1, math.MaxInt32),
			"phase": pick(f.Rand, "Ready", "Deleting", "Lost", "Cloning", "", "Any"), "revision": pick(f.Rand, of.Status.CurrentRevision, ""),
		}
	}
	return vms
}

// broken are ways in which an object cannot be decoded.
var broken = map[string]func(hostileapi.Object){
	"a word for a number":  func(o hostileapi.Object) { hostileapi.Set(o, "many", "spec", "replicas") },
	"a number beyond all":  func(o hostileapi.Object) { hostileapi.Set(o, json.Number("1e400"), "spec", "replicas") },
	"a number for a word":  func(o hostileapi.Object) { hostileapi.Set(o, 7, "metadata", "uid") },
	"a time that is none":  func(o hostileapi.Object) { hostileapi.Set(o, "yesterday", "metadata", "deletionTimestamp") },
	"a word for a list":    func(o hostileapi.Object) { hostileapi.Set(o, v1alpha1.VmGroupFinalizer, "metadata", "finalizers") },
	"a list for an object": func(o hostileapi.Object) { hostileapi.Set(o, []int{1}, "status") },
	"an ordinal beyond all": func(o hostileapi.Object) {
		hostileapi.Set(o, []any{hostileapi.Object{"ordinal": 1 << 40}}, "status", "vms")
	},
	"no metadata whatsoever": func(o hostileapi.Object) { o["metadata"] = "none" },
}
