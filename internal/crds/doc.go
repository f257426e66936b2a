// Package crds installs the CustomResourceDefinitions of package config/crd in the hub and in members. [StandingOf] is the one rule: the operator
// never downgrades a CRD and never changes a CRD of another product. [Install] applies the rule. [Apply] and [Remove] implement commands for the
// hub. Package install reports the results for members.
package crds
