//go:build unix && slow

package tenancy

import "testing"

func TestTwoThousandForgedGroupsHarmNobody(t *testing.T) {
	forge(t, forgery{rounds: 40, groups: 50, broken: everyBreak()})
}
