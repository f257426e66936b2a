package webhook

import (
	"encoding/json"
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// defaulted warns about fields that an update leaves out and that change because the default has changed. A member's own policies set defaults
// before they call the hub, and cannot warn. So defaulted checks the result: a field with a default is in no manager's fields.
func (said *review) defaulted(set *policy.Set, requester policy.Requester, old, group *v1alpha1.VmGroup) {
	if old == nil || len(group.ManagedFields) == 0 {
		return
	}
	filled := set.Refilled(requester, old.Spec, group.Spec)
	if len(filled) == 0 {
		return
	}
	managed := managedSpec(group)
	for _, f := range filled {
		if !managed[f.Field] {
			said.add(fmt.Sprintf("%s is left out and becomes %s, today's default of VmGroupPolicy %q; it was %s. Write the value that you want.",
				f.Field, asWritten(f.Default), f.Policy, asWritten(f.Was)))
		}
	}
}

func asWritten(value any) string {
	if text, ok := value.(string); ok {
		return untrusted.Name(text)
	}
	return fmt.Sprint(value)
}

// managedSpec returns the required fields of spec that a client has written. The API server records managed fields before defaults are set.
func managedSpec(group *v1alpha1.VmGroup) map[string]bool {
	managed := map[string]bool{}
	for _, entry := range group.ManagedFields {
		if entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Spec struct {
				CPU      json.RawMessage `json:"f:cpu"`
				Memory   json.RawMessage `json:"f:memory"`
				Template json.RawMessage `json:"f:template"`
			} `json:"f:spec"`
		}
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		for name, value := range map[string]json.RawMessage{
			"spec.cpu": fields.Spec.CPU, "spec.memory": fields.Spec.Memory, "spec.template": fields.Spec.Template,
		} {
			managed[name] = managed[name] || value != nil
		}
	}
	return managed
}
