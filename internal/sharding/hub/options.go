package hub

import (
	"maps"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"
)

const (
	defaultRingName = "vmgroup-operator-ring"
	defaultPrefix   = "vmgroup-operator-replica-"
	defaultRequest  = 5 * time.Second
	defaultRelist   = 10 * time.Second

	nameLabel        = "app.kubernetes.io/name"
	componentLabel   = "app.kubernetes.io/component"
	productName      = "vmgroup-operator"
	sessionComponent = "shard-session"
	ringComponent    = "shard-ring"
)

// Options of a Client. Only Namespace is required.
type Options struct {
	// Namespace of the Leases and the shard map. It must exist.
	Namespace string
	// RingName is the name of the shard map's ConfigMap; default "vmgroup-operator-ring", the only name that the
	// operator's Role allows.
	RingName string
	// Prefix precedes a session's name in the name of its Lease; default "vmgroup-operator-replica-".
	Prefix string
	// Labels are set on created objects, in addition to this package's own labels, which have precedence.
	Labels map[string]string
	// Request limits the opening of a connection and each list of Watch; default 5 s. Only their context limits
	// requests of Do.
	Request time.Duration
	// Relist is the time from one list of Watch to the next; default 10 s.
	Relist time.Duration
	// Log gets each failed list and watch, at level 1; default none. Watch retries.
	Log logr.Logger
	// Now returns the time of day; default time.Now. It must be safe for concurrent use.
	Now func() time.Time
	// Rand returns a number in [0, 1) that spreads retries; default math/rand. It must be safe for concurrent use.
	Rand func() float64
}

func (o Options) withDefaults() Options {
	if o.RingName == "" {
		o.RingName = defaultRingName
	}
	if o.Prefix == "" {
		o.Prefix = defaultPrefix
	}
	if o.Request <= 0 {
		o.Request = defaultRequest
	}
	if o.Relist <= 0 {
		o.Relist = defaultRelist
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o
}

// labels returns a new map with the labels of an object.
func (o Options) labels(component string) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, o.Labels)
	labels[nameLabel], labels[componentLabel] = productName, component
	return labels
}
