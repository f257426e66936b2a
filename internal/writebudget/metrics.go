package writebudget

import (
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	definitions "github.com/codeconnect/vmgroup-operator/internal/metrics"
)

var (
	written = definitions.HubWrittenBytes.NewCounter()
	waits   = definitions.HubWriteWaits.NewCounter()
)

func init() { metrics.Registry.MustRegister(written, waits) }
