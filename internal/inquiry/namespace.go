package inquiry

// NamespaceManager is the field manager of the dry run of a new group that asks for a [Namespace], and the name of the group: members set no defaults in it. Its spec.vcenter is empty, or
// the VCenter whose templates are listed, and its spec.template the path of the last template that the sender knows. The object has no other effect, and can be invalid.
const NamespaceManager = "kubectl-vmgroup-namespace"

// Namespace is what the groups of a namespace can use.
type Namespace struct {
	// VCenters grant something to the namespace. VCenter is that of a group that names none.
	VCenters []string `json:"vcenters,omitempty"`
	VCenter  string   `json:"vcenter,omitempty"`
	// Quotas count the groups of the namespace.
	Quotas []Quota `json:"quotas,omitempty"`
	// Templates of the VCenter that the request names, by path.
	Templates []Template `json:"templates,omitempty"`
	// Unknown is why templates cannot be listed, or empty.
	Unknown string `json:"unknown,omitempty"`
	// More is true if the answer does not have all.
	More bool `json:"more,omitempty"`
}

// Template is a template that groups of the namespace can name.
type Template struct {
	// Name is the text for spec.template: the template's name, or its path if others have that name.
	Name string `json:"name"`
	// Path is the inventory path.
	Path string `json:"path"`
	// Linked is true if it has a snapshot for linked clones. Unfit is why a full clone is impossible, or empty.
	Linked bool   `json:"linked,omitempty"`
	Unfit  string `json:"unfit,omitempty"`
}

// Quota is a limit of a policy, and what counts in it.
type Quota struct {
	Policy string `json:"policy"`
	// Together is true if the groups of all namespaces that the policy matches count together.
	Together bool `json:"together,omitempty"`
	// Warns is true if the policy does not refuse what exceeds it.
	Warns bool `json:"warns,omitempty"`
	// Problem is why the policy refuses all growth, or empty.
	Problem string `json:"problem,omitempty"`
	// Memory and Storage are in GiB. A dimension without a limit is nil.
	Groups  *Amount `json:"groups,omitempty"`
	VMs     *Amount `json:"vms,omitempty"`
	CPU     *Amount `json:"cpu,omitempty"`
	Memory  *Amount `json:"memory,omitempty"`
	Storage *Amount `json:"storage,omitempty"`
}

// Amount is a part of a quota. Used can exceed Hard: a quota that is lowered takes nothing away. Used is nil if it is not known now.
type Amount struct {
	Used *int64 `json:"used,omitempty"`
	Hard int64  `json:"hard"`
}

// Warning encodes the answer. If it is too long, it leaves out elements from the end.
func (n Namespace) Warning() string {
	for {
		text, fits := encode(n)
		switch last := len(n.Templates) - 1; {
		case fits:
			return text
		case last >= 0:
			n.Templates = n.Templates[:last]
		case len(n.Quotas) > 0:
			n.Quotas = n.Quotas[:len(n.Quotas)-1]
		default:
			n.VCenters = n.VCenters[:len(n.VCenters)-1]
		}
		n.More = true
	}
}
