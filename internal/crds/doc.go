// Package crds installs the CustomResourceDefinitions of package config/crd in hub and members. [StandingOf] is the one rule: nothing is ever
// downgraded, and a CRD of another product stays as it is. [Install] carries it out. [Apply] and [Remove] are the commands of a hub; what a member
// is told is in package install.
package crds
