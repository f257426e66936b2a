//go:build unix

package localcluster

import (
	"errors"
	"fmt"
	"syscall"
)

// lowestPriority is the niceness of a process that gets the processor when nothing else wants it.
const lowestPriority = 19

// YieldProcessor gives the API server and etcd the lowest priority until they are started again. Clusters of a fleet have machines of their own; here, all
// share one. A test of what one cluster's load does to others through the operator keeps the processors out of the result by that.
func (c *ControlPlane) YieldProcessor() error {
	var errs []error
	for _, p := range []*process{c.etcd, c.apiserver} {
		r := p.current()
		if r == nil {
			errs = append(errs, fmt.Errorf("lower the priority of %s: %w", p.name, errEnded))
			continue
		}
		// Each process leads a group of its own. Of a group, Linux changes all threads, and of a process only the first one.
		if err := syscall.Setpriority(syscall.PRIO_PGRP, r.pid, lowestPriority); err != nil {
			errs = append(errs, fmt.Errorf("lower the priority of %s: %w", p.name, err))
		}
	}
	return errors.Join(errs...)
}
