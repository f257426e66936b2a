//go:build slow

package model

import (
	"flag"
	"testing"
	"time"
)

var lasts = flag.Duration("model.for", 10*time.Minute, "how long TestRandomHistoriesForTenMinutes runs")

// TestRandomHistoriesForTenMinutes runs different histories each time. A failure names its seed.
func TestRandomHistoriesForTenMinutes(t *testing.T) {
	began := time.Now()
	first := uint64(began.Unix()) << 20
	n := uint64(0)
	for ; time.Since(began) < *lasts; n++ {
		if failed(t, generate(first+n)) {
			return
		}
	}
	t.Logf("%d histories from seed %d on", n, first)
}
