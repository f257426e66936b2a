//go:build unix

package stack

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// WaitFor asks until condition holds or ctx ends. An error of condition is kept for the message and asked
// again: servers that are being started or stopped refuse connections. It asks often in the beginning, and less often the longer it
// waits, so that what waits for a minute leaves the machine to what is waited for.
func WaitFor(ctx context.Context, what string, condition func(context.Context) (bool, error)) error {
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		ok, err := condition(ctx)
		if ok && err == nil {
			return nil
		}
		timer.Reset(pause(time.Since(began)))
		select {
		case <-ctx.Done():
			if err != nil {
				return fmt.Errorf("waiting for %s: %w; last: %w", what, context.Cause(ctx), err)
			}
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		case <-timer.C:
		}
	}
}

// pause is the time until the next question after so long a wait: a twentieth of it.
func pause(waited time.Duration) time.Duration {
	const least, most = 25 * time.Millisecond, 250 * time.Millisecond
	return min(max(waited/20, least), most)
}

// IsReady reports whether condition Ready is True.
func IsReady(conditions []metav1.Condition) bool {
	return meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady)
}
