package operator

// Program is a program of the product that people download.
type Program struct {
	// Command is its folder below cmd.
	Command string
	// Title is its name in messages.
	Title string
}

// The programs of a release. The image has only the manager.
var (
	Manager = Program{Command: "manager", Title: "the operator"}
	Plugin  = Program{Command: "kubectl-vmgroup", Title: "the kubectl plugin"}
)

func (p Program) mainPackage() string { return "./cmd/" + p.Command }
