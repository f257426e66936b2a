package effect

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// MaxReceipts and MaxReceiptBytes limit the receipts of one member: above them none of its groups is forgotten. A hostile API
// server can invent any number of groups, and no vCenter shows VMs of those that are forgotten.
const (
	MaxReceipts     = 10_000
	MaxReceiptBytes = 64 << 20
)

// errTooMany means that a member has reached MaxReceipts or MaxReceiptBytes.
var errTooMany = fmt.Errorf("the member has %d receipts, or %d MiB of them; a hub administrator deletes those that are not needed any more "+
	"(kubectl get configmaps -n <namespace of the operator> -l app.kubernetes.io/component=receipt)", MaxReceipts, MaxReceiptBytes>>20)

// ReceiptSums count the receipts of the groups of a member, by its UID, and their bytes. *receipts.Index implements it.
type ReceiptSums interface {
	Sum(member string) (n, bytes int)
}

// writeReceipt stores on the hub which VMs stay without the group. It reads the group from the API server first, because the
// annotation's request cannot be undone. An error is one of the member; the result of the write is the answer.
type writeReceipt struct {
	receipts  receipts.Store
	sums      ReceiptSums
	hubWrites *writebudget.Budget
}

// Do implements Effect.
func (w writeReceipt) Do(ctx context.Context, p *Pass, s *group.Snapshot, d group.Decision) (_ Outcome, err error) {
	s.Receipt, err = w.write(ctx, p, s, *d.Receipt)
	return Outcome{}, err
}

func (w writeReceipt) write(ctx context.Context, p *Pass, s *group.Snapshot, receipt group.Receipt) (*group.ReceiptAnswer, error) {
	r := receiptOf(p, s, receipt)
	answer := &group.ReceiptAnswer{Receipt: receipt}
	if receipt.Forgotten && w.full(p.Member.UID, r.Bytes()) {
		answer.Err = errTooMany
		return answer, nil
	}
	if answer.Wait = w.hubWrites.Ask(p.Member.UID, turn(s), r.Bytes()); answer.Wait > 0 {
		return answer, nil
	}
	wrote := 0
	defer func() { w.hubWrites.Settle(p.Member.UID, writebudget.Receipt, r.Bytes(), wrote) }()
	live := s.Group
	if !s.Vanished {
		live = &v1alpha1.VmGroup{}
		readCtx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
		defer cancel()
		if err := p.Live.Get(readCtx, client.ObjectKeyFromObject(s.Group), live); err != nil {
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
	if answer.Err = w.receipts.Write(ctx, r); answer.Err != nil {
		log.FromContext(ctx).Error(answer.Err, "Failed to write the receipt of a group; its deletion waits")
		return answer, nil
	}
	wrote = r.Bytes()
	return answer, nil
}

// full reports whether a member has no room for another receipt of this size.
func (w writeReceipt) full(member string, more int) bool {
	if w.sums == nil {
		return false
	}
	n, bytes := w.sums.Sum(member)
	return n >= MaxReceipts || bytes+more > MaxReceiptBytes
}

// receiptOf is the receipt of a group, without the name of its requester.
func receiptOf(p *Pass, s *group.Snapshot, receipt group.Receipt) receipts.Receipt {
	r := receipts.Receipt{
		Cause: receipts.Released, MemberCluster: p.Member.Name, MemberUID: p.Member.UID, Namespace: s.Group.Namespace, Group: s.Group.Name, GroupUID: string(s.Group.UID),
		VCenter: s.VCenter, InstanceUUID: cmp.Or(s.Observation.InstanceUUID, s.Group.Status.VCenterInstanceUUID), Time: p.Now.UTC().Truncate(time.Second),
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
