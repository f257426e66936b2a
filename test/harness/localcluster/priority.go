//go:build unix

package localcluster

import (
	"errors"
	"fmt"
	"syscall"
)

// lowestPriority is the niceness of a process that gets the processor only if no other process needs it.
const lowestPriority = 19

// YieldProcessor gives the API server and etcd the lowest priority until they are started again. The clusters of a fleet have their own machines, but here
// all share one. With it, a test can measure how one cluster's load affects others through the operator alone.
func (c *ControlPlane) YieldProcessor() error {
	var errs []error
	for _, p := range []*process{c.etcd, c.apiserver} {
		r := p.current()
		if r == nil {
			errs = append(errs, fmt.Errorf("lower the priority of %s: %w", p.name, errEnded))
			continue
		}
		// Each process leads its own group. For a group, Linux changes all threads, but for a process only the first one.
		if err := syscall.Setpriority(syscall.PRIO_PGRP, r.pid, lowestPriority); err != nil {
			errs = append(errs, fmt.Errorf("lower the priority of %s: %w", p.name, err))
		}
	}
	return errors.Join(errs...)
}
