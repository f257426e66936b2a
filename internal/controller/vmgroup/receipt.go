package vmgroup

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// mostReceipts is how many receipts a member may have, and mostReceiptBytes how large they may be together, before no more of its groups are forgotten. A hostile
// API server can make up any number of groups, and of those that are forgotten nobody sees a VM.
const mostReceipts, mostReceiptBytes = 10_000, 64 << 20

// errTooMany means that a member has as many receipts as it may, or as large ones.
var errTooMany = fmt.Errorf("the member has %d receipts, or %d MiB of them; a hub administrator deletes those that are not needed any more "+
	"(kubectl get configmaps -n <namespace of the operator> -l app.kubernetes.io/component=receipt)", mostReceipts, mostReceiptBytes>>20)

// writeReceipt writes on the hub which VMs stay when the group goes. Whether somebody asks for that still is read afresh: what the annotation
// asks for cannot be undone. An error is one of the member; what became of the receipt is the answer.
func (p *pass) writeReceipt(ctx context.Context, s *group.Snapshot, receipt group.Receipt) (*group.ReceiptAnswer, error) {
	r := p.receiptOf(s, receipt)
	answer := &group.ReceiptAnswer{Receipt: receipt}
	if receipt.Forgotten && p.r.receiptsFull(p.member.UID, r.Bytes()) {
		answer.Err = errTooMany
		return answer, nil
	}
	if answer.Wait = p.r.HubWrites.Ask(p.member.UID, p.turn(s), r.Bytes()); answer.Wait > 0 {
		return answer, nil
	}
	wrote := 0
	defer func() { p.r.HubWrites.Settle(p.member.UID, writebudget.Receipt, r.Bytes(), wrote) }()
	live := s.Group
	if !s.Vanished {
		live = &v1alpha1.VmGroup{}
		readCtx, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		if err := p.live.Get(readCtx, client.ObjectKeyFromObject(s.Group), live); err != nil {
			return nil, fmt.Errorf("read the group: %w", err)
		}
		asked := v1alpha1.ReleaseAsked(live)
		if receipt.Forgotten {
			asked = v1alpha1.ForgetAsked(live)
		}
		if live.UID != s.Group.UID || !asked {
			return nil, apierrors.NewConflict(schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "vmgroups"}, s.Group.Name, nil)
		}
	}
	r.By = annotatedBy(live, receipt.Annotation())
	if answer.Err = p.r.Receipts.Write(ctx, r); answer.Err != nil {
		log.FromContext(ctx).Error(answer.Err, "Failed to write the receipt of a group; its deletion waits")
		return answer, nil
	}
	wrote = r.Bytes()
	return answer, nil
}

// receiptOf is what is written of a group, but for who asked for it.
func (p *pass) receiptOf(s *group.Snapshot, receipt group.Receipt) receipts.Receipt {
	r := receipts.Receipt{
		Cause: receipts.Released, MemberCluster: p.member.Name, MemberUID: p.member.UID, Namespace: s.Group.Namespace, Group: s.Group.Name, GroupUID: string(s.Group.UID),
		VCenter: s.VCenter, InstanceUUID: cmp.Or(s.Observation.InstanceUUID, s.Group.Status.VCenterInstanceUUID), Time: p.now.UTC().Truncate(time.Second),
	}
	if receipt.Forgotten {
		r.Cause, r.InstanceUUID = receipts.Forgotten, s.Group.Status.VCenterInstanceUUID
	}
	if s.Folder != nil {
		r.Folder = receipts.Folder{Path: s.Folder.Path, MoRef: s.Folder.MoRef}
	}
	for _, vm := range receipt.VMs {
		r.VMs = append(r.VMs, receipts.VM(vm))
	}
	return r
}

// receiptsFull reports whether a member may not have another receipt of so many bytes.
func (r *Reconciler) receiptsFull(member string, more int) bool {
	if r.SumReceipts == nil {
		return false
	}
	n, bytes := r.SumReceipts(member)
	return n >= mostReceipts || bytes+more > mostReceiptBytes
}

// eventBytes is about what an event on the hub takes.
const eventBytes = 2 << 10

// tellHub tells on the hub that a group has gone whose VMs stay. The keys of the line are stable: docs/deletion.md lists them.
func (p *pass) tellHub(ctx context.Context, s *group.Snapshot) {
	receipt := s.Receipt.Receipt
	vms := make([]string, 0, len(receipt.VMs))
	for _, vm := range receipt.VMs {
		vms = append(vms, fmt.Sprintf("%s (%s)", vm.Name, vm.MoRef))
	}
	reason, message, action := "GroupReleased", "A group went and kept its VMs", "Release"
	if receipt.Forgotten {
		reason, message, action = "GroupForgotten", "A group went without its vCenter", "Forget"
	}
	name := receipts.Name(s.ID.Key())
	log.FromContext(ctx).Info(message, "groupUID", s.Group.UID, "vcenter", s.VCenter, "receipt", name, "vms", vms)
	if p.r.MemberEvent != nil && p.r.HubWrites.Afford(p.member.UID, writebudget.Event, eventBytes) {
		p.r.MemberEvent(p.member.Name, reason, action, fmt.Sprintf("%s: VmGroup %s (UID %s), %d VMs in VCenter %q; the receipt is ConfigMap %s in the operator's namespace",
			message, untrusted.Name(s.Group.Namespace+"/"+s.Group.Name), untrusted.Name(string(s.Group.UID)), len(vms), s.VCenter, name))
	}
}

const (
	// mostManager is how many bytes the name of a field manager may have in Kubernetes.
	mostManager = 128
	// mostFields is how many bytes the fields of a manager may have to be looked at. Each field that is decoded needs many times its bytes; who sets an
	// annotation has a few hundred bytes, and who applies a whole group some kilobytes.
	mostFields = 64 << 10
)

// annotatedBy is the field manager that set an annotation last, or empty where the API server does not say. What is longer than such a name may be is cut.
func annotatedBy(live *v1alpha1.VmGroup, annotation string) (manager string) {
	var last metav1.Time
	for _, entry := range live.ManagedFields {
		if entry.FieldsV1 == nil || len(entry.FieldsV1.GetRawString()) > mostFields {
			continue
		}
		var fields struct {
			Metadata struct {
				Annotations map[string]json.RawMessage `json:"f:annotations"`
			} `json:"f:metadata"`
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			continue
		}
		if _, sets := fields.Metadata.Annotations["f:"+annotation]; sets && (manager == "" || entry.Time != nil && last.Before(entry.Time)) {
			manager = entry.Manager
			if entry.Time != nil {
				last = *entry.Time
			}
		}
	}
	return untrusted.Text(manager, mostManager)
}
