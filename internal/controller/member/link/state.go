package link

// State of a connection to a member. docs/reference/membercluster.md has a drawing.
type State string

// A connection begins Queued.
const (
	Queued         State = "Queued"         // the previous incarnation has not ended, or the manager has not started
	Connecting     State = "Connecting"     // an attempt begins: which cluster answers?
	Equipping      State = "Equipping"      // the member is claimed and gets its CRD, or is found to have both
	Syncing        State = "Syncing"        // the caches are filled
	Engaging       State = "Engaging"       // others can read the caches, and controllers begin to watch
	Engaged        State = "Engaged"        // the groups of the member are served
	Silent         State = "Silent"         // it is engaged with the last observed state: it does not answer, lacks its claim, or its caches are outdated
	Disengaging    State = "Disengaging"    // the watches and caches of the member end
	Refilling      State = "Refilling"      // they end because its storage went back, and the next attempt begins immediately
	Refused        State = "Refused"        // an attempt failed; the problem has the reason, also during the next attempts
	AwaitingLeader State = "AwaitingLeader" // the replica that leads has not pinned, claimed or equipped the member yet
	Leaving        State = "Leaving"        // the MemberCluster is deleted: the member is cleaned up
	Left           State = "Left"           // the member was left; all goroutines of the connection have ended
	Ending         State = "Ending"         // the connection is no longer needed: the member is disengaged immediately
	Ended          State = "Ended"          // all goroutines of the connection have ended
)

// Unexpected is logged if a connection enters a state that next does not contain. Tests look for it.
const Unexpected = "A connection entered a state that must not follow its previous state"

// next has the states that can follow each state.
var next = map[State][]State{
	Queued:         {Connecting, Leaving, Ending},
	Connecting:     {Equipping, Refused, AwaitingLeader, Ending},
	Equipping:      {Syncing, Refused, AwaitingLeader, Ending},
	Syncing:        {Engaging, Disengaging, Ending},
	Engaging:       {Engaged, Disengaging, Ending},
	Engaged:        {Silent, Disengaging, Refilling, Ending},
	Silent:         {Engaged, Disengaging, Refilling, Ending},
	Disengaging:    {Refused, Ending},
	Refilling:      {Connecting, Refused, Ending},
	Refused:        {Connecting, Ending},
	AwaitingLeader: {Connecting, Ending},
	Leaving:        {Left, Ending},
	Ending:         {Left, Ended},
}

// Serves reports whether the groups of the member are served, possibly with the last observed state.
func (s State) Serves() bool { return s == Engaged || s == Silent }

// hasCaches reports whether others can read the member's caches.
func (s State) hasCaches() bool { return s == Engaging || s.Serves() }

// ends reports whether the connection has ended, or is about to. Its observations are no longer
// valid.
func (s State) ends() bool { return s == Ending || s == Left || s == Ended }
