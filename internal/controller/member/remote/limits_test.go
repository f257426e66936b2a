package remote

import "testing"

// TestWhoMayHaveMoreIsReadFaster: a list that does not end within a minute is reported as trouble, and so more memory would be
// useless.
func TestWhoMayHaveMoreIsReadFaster(t *testing.T) {
	for _, kept := range []int64{1 << 20, DefaultKept, 200 << 20, 2 << 30} {
		limits := LimitsFor(kept)
		if within := int64(limits.Burst) + 30*int64(limits.Rate); within < kept*5/2 {
			t.Errorf("of a member that may have %d MiB, %d MiB are read in half a minute", kept>>20, within>>20)
		}
		// A page of the maximum size, after the burst is used up.
		if limits.Kept != kept || 30*int64(limits.Rate) < limits.Page.Bytes || limits.Burst < mostRead {
			t.Errorf("%d bytes may be kept with %+v", kept, limits)
		}
	}
}
