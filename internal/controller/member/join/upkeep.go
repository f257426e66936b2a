package join

import (
	"context"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// Upkeep is the state that an engagement keeps between health checks.
type Upkeep struct {
	// Audited is the time of the member's last audit.
	Audited time.Time
	// missing: the CRD was deleted, and does not exist again.
	missing bool
}

// KeepUp audits the member if that is due. It returns how long the next health check can wait.
func (j *Joiner) KeepUp(ctx context.Context, apis remote.APIs, uid string, recovered bool, last *Upkeep) time.Duration {
	timings := j.options.Timings
	mayWrite := j.link.Leading()
	if mayWrite && j.deletionSeen.Swap(false) {
		if _, err := j.Definition(ctx, apis); err != nil {
			j.log.V(1).Info("The CRD could not be checked", "error", err.Error())
		}
	}
	doubted := j.crdDoubted.Swap(false)
	j.equipped = j.equipped && mayWrite
	if doubted && !last.missing && j.lostCRD(ctx, apis) {
		// This is reported before the repair: otherwise no user would see it.
		last.missing = true
		return time.Second
	}
	now := j.options.Now()
	if recovered || doubted || last.missing || mayWrite && !j.equipped || now.Sub(last.Audited) >= timings.Audit {
		last.Audited = now
		err := j.audit(ctx, apis, uid)
		if err != nil {
			j.log.Error(err, "The audit of the member failed")
		}
		if last.missing = last.missing && err != nil; last.missing {
			return timings.Await
		}
	}
	return timings.HealthInterval
}

// audit refreshes data that changes rarely: the member's version and its CRD.
func (j *Joiner) audit(ctx context.Context, apis remote.APIs, uid string) error {
	version, err := apis.Runtime.Version(ctx)
	if err != nil {
		return err
	}
	j.link.NoteVersion(version)
	if err := apis.SameCluster(ctx, uid); err != nil {
		return err
	}
	j.renewClaim(ctx, apis)
	return j.equip(ctx, apis.Bootstrap)
}
