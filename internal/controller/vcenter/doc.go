// Package vcenter keeps one connection per VCenter object and reports its state.
//
// Pool owns the connections and hands them to the VmGroup controller. A changed Secret or spec opens a new
// connection beside the old one; the new one takes over when it works, or when the old one does not work
// either, and the old one is logged out. A wrong password therefore stops nothing that still runs.
//
// Every replica has a Pool and runs the controller over it; the leader alone writes the VCenter objects.
package vcenter
