package fleet

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// Reason says why a key is delivered.
type Reason int

const (
	// Changed is what a subscriber reads of the key.
	Changed Reason = iota
	// TakenOver are the groups of a bucket that this replica acts on from now on. No replica has acted on them for a
	// while: they go before all others.
	TakenOver
)

// Sink is the work queue of a subscriber. It gets a key, and the subscriber reads the Fleet when it takes the key out:
// several changes are one, and nothing is said twice. Deliver neither blocks nor reads the Fleet. The Fleet calls it
// without a lock of its own.
type Sink[K comparable] interface {
	Deliver(key K, why Reason)
}

// Departed is a group that the Fleet has dropped, or that this replica has lost, under one of its names: an API server
// that lies can show two groups with one UID.
type Departed struct {
	Ref Ref
	Key vsphere.GroupKey
	// VCenter is the one that it used last.
	VCenter string
}

// Twins are groups of two members with one UID.
type Twins struct {
	UID        string
	One, Other Ref
}

// sinks are those of all subscribers.
type sinks struct {
	groups   []Sink[Ref]
	members  []Sink[string]
	departed []Sink[Departed]
	twins    []Sink[Twins]
	policies []Sink[struct{}]
}

// SubscribeGroups delivers the name of each group that is to be looked at, of those that this replica holds. Before the
// first subscriber nothing is lost: its start reconciles every group.
func (f *Fleet) SubscribeGroups(s Sink[Ref]) { subscribe(f, &f.sinks.groups, s) }

// SubscribeMembers delivers the name of each member of which [Fleet.Tally] or [Fleet.Orphans] returns something else
// than before.
func (f *Fleet) SubscribeMembers(s Sink[string]) { subscribe(f, &f.sinks.members, s) }

// SubscribeDeparted delivers each group that is dropped without news that it was deleted, and each that another replica
// can act on from now on. When a subscriber takes it out, the group can be known again, also by another name, and this
// replica can hold it again.
func (f *Fleet) SubscribeDeparted(s Sink[Departed]) { subscribe(f, &f.sinks.departed, s) }

// SubscribeTwins delivers groups of two members with one UID, when the second is seen.
func (f *Fleet) SubscribeTwins(s Sink[Twins]) { subscribe(f, &f.sinks.twins, s) }

// SubscribePolicies delivers whenever the policies of the hub change.
func (f *Fleet) SubscribePolicies(s Sink[struct{}]) { subscribe(f, &f.sinks.policies, s) }

func subscribe[K comparable](f *Fleet, to *[]Sink[K], s Sink[K]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*to = append(*to, s)
}

// deliver hands a key to all sinks of a kind. The lock is not held.
func deliver[K comparable](f *Fleet, of *[]Sink[K], why Reason, keys ...K) {
	f.mu.Lock()
	to := *of
	f.mu.Unlock()
	for _, s := range to {
		for _, key := range keys {
			s.Deliver(key, why)
		}
	}
}
