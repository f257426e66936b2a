package quota

import (
	"testing"

	dto "github.com/prometheus/client_model/go"
)

// HeldBy is what the metric says of a VCenter.
func HeldBy(t *testing.T, vcenter string) int {
	t.Helper()
	var m dto.Metric
	if err := heldByVCenter.WithLabelValues(vcenter).Write(&m); err != nil {
		t.Fatal(err)
	}
	return int(m.GetGauge().GetValue())
}
