package progress

import (
	"os"
	"slices"
)

// Flags are the build flags of everything that is built or tested here. One set for all means that packages which the product,
// its tests, kube-apiserver and the image have in common are compiled once: the go command keeps packages of other flags apart.
//
// Paths of this machine are left out, as the image needs it; so is the version control stamp, with which even the list of what
// is to be compiled fails in a checkout of another owner.
func Flags() []string { return []string{"-trimpath", "-buildvcs=false"} }

// Environ is the environment of every run of the go command, the other half of [Flags]. Without cgo, because programs in an
// image have no C library beside them; the race detector cannot do without.
func Environ(race bool) []string {
	cgo := "CGO_ENABLED=0"
	if race {
		cgo = "CGO_ENABLED=1"
	}
	return append(os.Environ(), cgo)
}

// flags are those of this build.
func (b GoBuild) flags() []string {
	flags := Flags()
	if b.Race {
		flags = append(flags, "-race")
	}
	return slices.Concat(flags, b.Flags)
}

// RaceVariable of the environment, set to anything, has the operator that tests start built with the race detector.
const RaceVariable = "VMGROUP_MANAGER_RACE"
