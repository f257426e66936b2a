package operations

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

type backoff struct{ first, last time.Duration }

// backoffs are the pauses before the retry of a failed operation. Errors that need a user's action are retried rarely,
// and temporary errors soon.
var backoffs = map[vsphere.Kind]backoff{
	vsphere.KindTransient:     {2 * time.Second, 2 * time.Minute},
	vsphere.KindBusy:          {2 * time.Second, 30 * time.Second},
	vsphere.KindLimitExceeded: {time.Minute, 10 * time.Minute},
	vsphere.KindCapacity:      {30 * time.Second, 10 * time.Minute},
	vsphere.KindPermission:    {time.Minute, 10 * time.Minute},
	vsphere.KindSpec:          {time.Minute, 10 * time.Minute},
	vsphere.KindOffOnly:       {time.Minute, 10 * time.Minute},
	vsphere.KindNotTemplate:   {time.Minute, 10 * time.Minute},
	vsphere.KindAmbiguous:     {time.Minute, 10 * time.Minute},
	vsphere.KindNameTaken:     {time.Minute, 10 * time.Minute},
	vsphere.KindForeign:       {time.Minute, 10 * time.Minute},
	vsphere.KindForeignDisk:   {time.Minute, 10 * time.Minute},
	vsphere.KindGrowthBlocked: {time.Minute, 10 * time.Minute},
	vsphere.KindCredentials:   {time.Minute, 10 * time.Minute},
	vsphere.KindCertificate:   {time.Minute, 10 * time.Minute},
	vsphere.KindNotEmpty:      {5 * time.Second, time.Minute},
	vsphere.KindConflict:      {time.Second, 10 * time.Second},
	vsphere.KindNotFound:      {time.Second, 10 * time.Second},
	vsphere.KindFenced:        {time.Second, 10 * time.Second},
}

// Backoff returns the pause after the count-th consecutive failure. It doubles from first to last.
func Backoff(kind vsphere.Kind, count int) time.Duration {
	b, ok := backoffs[kind]
	if !ok {
		b = backoffs[vsphere.KindTransient]
	}
	d := b.first
	for range count - 1 {
		if d *= 2; d >= b.last {
			return b.last
		}
	}
	return d
}
