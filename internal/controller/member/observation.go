package member

import (
	"time"
)

// phase of a connection, as far as status is concerned.
type phase int

const (
	// phaseConnecting: the first attempt of this incarnation has not ended; nothing is known yet.
	phaseConnecting phase = iota
	// phaseFailing: the last attempt failed; the problem says why. The member is not engaged.
	phaseFailing
	// phaseEngaged: the member is engaged. A problem means that it stopped answering since.
	phaseEngaged
)

// finding is what is known about one condition of a member; a nil *finding is "not known".
type finding struct {
	ok      bool
	reason  string
	message string
}

// observation is what a connection last saw of its member. It is a value: copies are independent, and the
// findings it points to are never changed.
type observation struct {
	phase             phase
	problem           *problem
	clusterUID        string
	kubernetesVersion string
	crdVersion        string
	claim             *finding
	crd               *finding
	// lastContact is when the member last answered.
	lastContact time.Time
	// engagedAt is when the member was engaged, zero when it is not.
	engagedAt time.Time
}
