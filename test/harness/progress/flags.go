package progress

import (
	"os"
	"slices"
)

// Flags are the build flags of all builds and tests here. The go command keeps packages of other flags apart. With one set of
// flags, it compiles packages that the product, its tests, kube-apiserver and the image share only once.
//
// -trimpath removes paths of this machine, as the image requires. Without -buildvcs=false, even the list of packages to
// compile fails in a checkout of another owner.
func Flags() []string { return []string{"-trimpath", "-buildvcs=false"} }

// Environ is the environment of every run of the go command, and belongs to [Flags]. It disables cgo, because programs in an image have no
// C library. The race detector needs cgo.
func Environ(race bool) []string {
	cgo := "CGO_ENABLED=0"
	if race {
		cgo = "CGO_ENABLED=1"
	}
	return append(os.Environ(), cgo)
}

// flags returns the flags of this build.
func (b GoBuild) flags() []string {
	flags := Flags()
	if b.Race {
		flags = append(flags, "-race")
	}
	return slices.Concat(flags, b.Flags)
}

// RaceVariable is an environment variable. If it is set, the operator that tests start is built with the race detector.
const RaceVariable = "VMGROUP_MANAGER_RACE"
