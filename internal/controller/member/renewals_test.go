//go:build unix && !fast && !slow

package member

import "time"

// The slow test renews each token more often, under load for minutes.
const (
	renewals   = 5
	renewAfter = time.Second
)
