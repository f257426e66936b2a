package main

import (
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/config"
	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// render prints what a member with manage: None needs, ready for kubectl apply.
func render(out io.Writer) error {
	definition, err := yaml.Marshal(crd.VmGroupCRD())
	if err != nil {
		return fmt.Errorf("render the CRD: %w", err)
	}
	if _, err := fmt.Fprintf(out, "%s---\n%s", definition, config.MemberRBAC()); err != nil {
		return fmt.Errorf("render: %w", err)
	}
	return nil
}
