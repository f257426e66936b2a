package link

// State of a connection to a member. docs/membercluster.md has a drawing.
type State string

// A connection begins Queued.
const (
	Queued         State = "Queued"         // the incarnation before has not ended, or the manager has not started
	Connecting     State = "Connecting"     // an attempt begins: which cluster answers?
	Equipping      State = "Equipping"      // the member is claimed and gets its CRD, or is found to have both
	Syncing        State = "Syncing"        // the caches are filled
	Engaging       State = "Engaging"       // others can read the caches, and controllers begin to watch
	Engaged        State = "Engaged"        // the groups of the member are served
	Silent         State = "Silent"         // it is engaged with what was last seen of it: it does not answer, lacks its claim, or its caches are behind
	Disengaging    State = "Disengaging"    // the watches and caches of the member end
	Refilling      State = "Refilling"      // they end because its storage went back, and the next attempt begins at once
	Refused        State = "Refused"        // an attempt failed; the problem says why, also during the next attempts
	AwaitingLeader State = "AwaitingLeader" // the replica that leads has not pinned, claimed or equipped the member yet
	Leaving        State = "Leaving"        // the MemberCluster is deleted: the member is cleaned up
	Left           State = "Left"           // the member was left; nothing of the connection runs any more
	Ending         State = "Ending"         // the connection is not wanted any more: the member is disengaged at once
	Ended          State = "Ended"          // nothing of the connection runs any more
)

// Unexpected is logged when a connection enters a state that next does not have. Tests look for it.
const Unexpected = "A connection enters a state that cannot follow"

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

// Serves reports whether the groups of the member are served, perhaps with what was last seen of it.
func (s State) Serves() bool { return s == Engaged || s == Silent }

// hasCaches reports whether others can read the member's caches.
func (s State) hasCaches() bool { return s == Engaging || s.Serves() }

// ends reports whether the connection has ended, or is about to. What it saw counts no more.
func (s State) ends() bool { return s == Ending || s == Left || s == Ended }
