package vmgroup

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
)

// Quotas grants growth. *quota.Ledger implements it.
type Quotas interface {
	Ask(ctx context.Context, c quota.Claim) quota.Answer
	Surplus(key quota.Key, holds, wants policy.Usage) (needs policy.Usage, some bool)
	GiveBack(key quota.Key, needs policy.Usage, epoch v1alpha1.Epoch)
	Leave(key quota.Key, left policy.Usage)
	Forget(key quota.Key)
}

// quotaKey is what the ledger of quotas calls a group.
func quotaKey(s *group.Snapshot) quota.Key { return quota.Key{Member: s.Member, UID: s.Group.UID} }
