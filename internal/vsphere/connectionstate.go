package vsphere

// Connection says whether vCenter reaches a VM, and why not. The zero value is not known.
type Connection string

// States of the connection, as vSphere names them.
const (
	Connected Connection = "connected"
	// Disconnected: the VM's host is disconnected or does not answer.
	Disconnected Connection = "disconnected"
	// Inaccessible: the VM's files cannot be reached.
	Inaccessible Connection = "inaccessible"
	// Orphaned: the host that the VM was registered on does not know it any more.
	Orphaned Connection = "orphaned"
	// Invalid: the VM's configuration cannot be read.
	Invalid Connection = "invalid"
)

// Connected reports whether vCenter reaches the VM.
func (vm *VM) Connected() bool { return vm.Connection == Connected }

// Problem says why vCenter does not reach a VM, as a clause.
func (c Connection) Problem() string {
	switch c {
	case Disconnected:
		return "its host is disconnected"
	case Inaccessible:
		return "it is inaccessible: its files cannot be reached"
	case Orphaned:
		return "it is orphaned: its host does not know it any more"
	case Invalid:
		return "it is invalid: its configuration cannot be read"
	}
	return "its host is disconnected, or its files cannot be reached"
}

// WayOut says what a person has to do, as a clause. Of an orphaned or an invalid VM nothing comes back by itself.
func (c Connection) WayOut() string {
	switch c {
	case Disconnected:
		return "bring its host back"
	case Inaccessible:
		return "bring its storage back"
	case Orphaned, Invalid:
		return "register it again, or power it off and remove it from the inventory; the group then goes on by itself"
	}
	return "bring its host or its storage back"
}
