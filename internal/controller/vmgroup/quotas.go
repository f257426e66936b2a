package vmgroup

import (
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
)

// Quotas is the ledger of quotas. *quota.Ledger implements it.
type Quotas interface {
	effect.Quotas
	Forget(key quota.Key)
}
