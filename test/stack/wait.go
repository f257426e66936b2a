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
// again: servers that are being started or stopped refuse connections.
func WaitFor(ctx context.Context, what string, condition func(context.Context) (bool, error)) error {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := condition(ctx)
		if ok && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			if err != nil {
				return fmt.Errorf("waiting for %s: %w; last: %w", what, ctx.Err(), err)
			}
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}

// IsReady reports whether condition Ready is True.
func IsReady(conditions []metav1.Condition) bool {
	return meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady)
}
