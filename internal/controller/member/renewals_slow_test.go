//go:build unix && slow

package member

import "time"

const (
	renewals   = 30
	renewAfter = 8 * time.Second // all renewals fit into the five minutes after which client-go can end a watch
)
