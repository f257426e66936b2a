package effect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// Effect carries out one step.
type Effect interface {
	// Do carries the step of a decision out, and adds the result to the snapshot. After an error the pass ends.
	Do(ctx context.Context, p *Pass, s *group.Snapshot, d group.Decision) (Outcome, error)
}

// Outcome is the result of an effect for the pass.
type Outcome struct {
	// Ends is true if the pass ends with this step.
	Ends bool
	// Refused is true if vCenter refused an action, which is tried again.
	Refused bool
}

// Table has the effect of each step.
type Table map[group.Step]Effect

// Deps are what effects act with. Definitions, Quotas, ReceiptSums and MemberEvents can be nil.
type Deps struct {
	// Shards raise the epochs of this installation.
	Shards Shards
	// Fleet knows the groups of all members.
	Fleet *fleet.Fleet
	// Hub reads VCenters from the hub's cache.
	Hub client.Reader
	// Definitions are the CRDs of members. Without them a CRD counts as one that stays.
	Definitions Definitions
	// Observer reads vCenters again after a claim.
	Observer Observer
	// Policies are those of the hub.
	Policies Policies
	// Quotas grant growth. Without them nothing grows that a quota limits.
	Quotas Quotas
	// Records store admitted specs on the hub.
	Records Records
	// Receipts store on the hub which VMs stay without their group.
	Receipts receipts.Store
	// ReceiptSums count the receipts of a member. Without them there is no limit.
	ReceiptSums ReceiptSums
	// HubWrites limits what each member makes the operator write on the hub.
	HubWrites *writebudget.Budget
	// MemberEvents writes events of MemberClusters. Without it no such events are written.
	MemberEvents MemberEvents
	// Newcomers records groups that get their finalizer.
	Newcomers Newcomers
	// Now is the clock.
	Now func() time.Time
}

// New returns the table of all effects. It returns an error if a step has none.
func New(d Deps) (Table, error) {
	t := Table{
		group.Wait:                  wait{},
		group.Report:                report{},
		group.RaiseEpoch:            &raiseEpoch{shards: d.Shards},
		group.RemoveLegacyFinalizer: removeLegacyFinalizer{},
		group.AddFinalizer:          addFinalizer{d.Newcomers},
		group.ReadDefinition:        readDefinition{d.Definitions, d.Now},
		group.ClaimAdoption:         claimAdoption{d.Fleet, d.Observer, d.Receipts, d.HubWrites, legacyFolders{d.Hub}},
		group.RecordOwner:           recordOwner{},
		group.MakeFolder:            makeFolder{},
		group.AskQuota:              askQuota{d.Policies, d.Quotas},
		group.ReadUserData:          readUserData{},
		group.PutRecord:             putRecord{d.Records, d.HubWrites},
		group.Act:                   act{d.Quotas},
		group.RemoveFolder:          removeFolder{},
		group.WriteReceipt:          writeReceipt{d.Receipts, d.ReceiptSums, d.HubWrites},
		group.Release:               release{d.Quotas, d.Records, d.HubWrites, d.MemberEvents},
	}
	return t, t.complete()
}

// complete returns an error that names the steps without an effect.
func (t Table) complete() error {
	var missing []error
	for _, step := range group.Steps() {
		if t[step] == nil {
			missing = append(missing, fmt.Errorf("step %s has no effect", step))
		}
	}
	return errors.Join(missing...)
}
