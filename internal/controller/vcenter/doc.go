// Package vcenter keeps one connection per VCenter object and reports its state.
//
// Pool owns the connections and gives the VmGroup controller access to them. A changed Secret or spec opens a new
// connection beside the old one. The new one replaces the old one when it works, or if neither works, and the old one
// logs out. A wrong password therefore stops nothing that still runs.
//
// Every replica has a Pool and runs the controller over it. Only the leader writes the VCenter objects.
package vcenter
