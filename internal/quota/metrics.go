package quota

import (
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	definitions "github.com/codeconnect/vmgroup-operator/internal/metrics"
)

var (
	writes        = definitions.QuotaLedgerWrites.NewCounter()
	heldByVCenter = definitions.QuotaHeldByVCenter.NewGauge()
)

func init() { metrics.Registry.MustRegister(writes, heldByVCenter) }
