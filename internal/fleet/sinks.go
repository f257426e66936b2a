package fleet

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// Reason is why a key is delivered.
type Reason int

const (
	// Changed means that data that a subscriber reads for the key changed.
	Changed Reason = iota
	// TakenOver groups belong to a bucket that this replica acts on from now on. No replica has acted on them for a
	// while: they have priority over all others.
	TakenOver
)

// Sink is the work queue of a subscriber. It gets a key, and the subscriber reads the Fleet when it takes the key out,
// so that several changes become one. Deliver must neither block nor read the Fleet. The Fleet calls it without holding
// its lock.
type Sink[K comparable] interface {
	Deliver(key K, why Reason)
}

// Departed is a group that the Fleet has dropped, or that this replica has lost, by one of its names: a faulty API
// server can report two groups with one UID.
type Departed struct {
	Ref Ref
	Key vsphere.GroupKey
	// VCenter is the one that the group used last.
	VCenter string
}

// Twins are groups of two members with one UID.
type Twins struct {
	UID        string
	One, Other Ref
}

type sinks struct {
	groups   []Sink[Ref]
	members  []Sink[string]
	departed []Sink[Departed]
	twins    []Sink[Twins]
	policies []Sink[struct{}]
}

// SubscribeGroups delivers the name of each group to reconcile, of those that this replica holds. Events before the
// first subscriber are not needed: its start reconciles every group.
func (f *Fleet) SubscribeGroups(s Sink[Ref]) { subscribe(f, &f.sinks.groups, s) }

// SubscribeMembers delivers the name of each member for which the result of [Fleet.Tally] or [Fleet.Orphans] changed.
func (f *Fleet) SubscribeMembers(s Sink[string]) { subscribe(f, &f.sinks.members, s) }

// SubscribeDeparted delivers each group that is dropped without an event of its deletion, and each that another replica
// can act on from now on. When a subscriber takes the group out, it can be known again, also by another name, and this
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

// deliver passes a key to all sinks of a kind. The caller does not hold the lock.
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
