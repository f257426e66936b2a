package vcenter

import (
	"fmt"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

const (
	gib = 1 << 30
	// littleSpace and littleShare are limits: datastores with less free space are reported.
	littleSpace = 20 * gib
	littleShare = 10 // percent
	// automated is the DRS mode that places and moves VMs. manual is the mode that does neither.
	automated, manual = "fullyAutomated", "manual"
)

func placesUnread(f *survey.Facts, _ Settings) []Finding {
	if f.Places == nil || f.Places.Problem == nil {
		return nil
	}
	p := f.Places.Problem
	return []Finding{withProblem(Finding{
		ID: "places-unread", Level: Fail, Says: "What VMs are made of cannot be found: " + p.Text,
		Fix: "Correct spec.datacenter, spec.folder or the names of templates, and give the account the role Read-only on the datacenter. See what it can see:", Command: command("govc", "ls", "/"),
	}, p)}
}

// placement uses the operator's own text for a refused place, because it names the alternatives.
func placement(f *survey.Facts, _ Settings) []Finding {
	if f.Places == nil || f.Places.Placement == nil {
		return nil
	}
	p := f.Places.Placement
	out := Finding{ID: "placement", Level: Fail, Says: "New VMs have no place: " + p.Text,
		Fix: "Correct spec.resourcePool, spec.datastore and spec.network. See which there are:", Command: command("govc", "find", "/", "-type", "p")}
	switch f.Places.OtherKind {
	case "datastore cluster":
		out.ID, out.Command = "datastore-cluster", command("govc", "find", "/", "-type", "s")
	case "distributed switch", "uplink port group":
		out.ID, out.Command = "no-port-group", command("govc", "find", "/", "-type", "n")
	}
	return []Finding{withProblem(out, p)}
}

func unseen(f *survey.Facts, _ Settings) []Finding {
	if f.Places == nil {
		return nil
	}
	below := map[string][]string{}
	var refs []string
	for _, u := range f.Places.Unseen {
		if _, known := below[u.Ref]; !known {
			refs = append(refs, u.Ref)
		}
		below[u.Ref] = append(below[u.Ref], u.Below)
	}
	var out []Finding
	for _, ref := range refs {
		out = append(out, Finding{
			ID: "unseen-parent", Level: Warn, Objects: len(below[ref]),
			Says:    fmt.Sprintf("The account does not see %s, which is above %s. No path in a grant or policy matches what is below it.", untrusted.Name(ref), named(below[ref])),
			Fix:     "Give the account the role Read-only on that object (vSphere Client: the folder or cluster > Permissions > Add):",
			Command: command("govc", "permissions.set", "-principal", userOf(f), "-role", readOnly, "-propagate=false", ref),
		})
	}
	return out
}

func hostsAway(f *survey.Facts, _ Settings) []Finding {
	if f.Places == nil || f.Places.Cluster == nil || len(f.Places.Cluster.Away) == 0 {
		return nil
	}
	c := f.Places.Cluster
	out := Finding{ID: "hosts-away", Level: Warn, Objects: len(c.Away), Kind: "Host",
		Says: fmt.Sprintf("%d of %s of %s run no VM now: %s.", len(c.Away), plural(c.Hosts, "host"), untrusted.Name(c.Path), strings.Join(c.Away[:min(len(c.Away), maxNamed)], "; ")),
		Fix:  "Bring them back (vSphere Client: the host > Maintenance Mode > Exit, or Connection > Connect)."}
	if len(c.Away) == c.Hosts {
		out.Level = Fail
	}
	return []Finding{out}
}

func drs(f *survey.Facts, _ Settings) []Finding {
	if f.Places == nil || f.Places.Cluster == nil || !f.Places.Cluster.ConfigRead || f.Places.Cluster.Hosts < 2 {
		return nil
	}
	c := f.Places.Cluster
	out := Finding{Level: Warn, Objects: 1, Kind: string(privileges.Cluster),
		Fix:     "If you want vCenter to distribute VMs, set DRS to fully automated (vSphere Client: the cluster > Configure > vSphere DRS > Edit):",
		Command: command("govc", "cluster.change", "-drs-enabled", "-drs-mode", automated, c.Path)}
	switch {
	case !c.DRS:
		out.ID, out.Says = "drs-off", fmt.Sprintf("DRS of %s is off: VMs stay on the host that they are cloned to, and many can share one host.", untrusted.Name(c.Path))
	case c.Automation == manual:
		out.ID, out.Says = "drs-manual", fmt.Sprintf("DRS of %s is manual: vCenter only recommends hosts, and VMs can stay on the host that they are cloned to.", untrusted.Name(c.Path))
	default:
		return nil
	}
	return []Finding{out}
}

func datastores(f *survey.Facts, _ Settings) []Finding {
	if f.Places == nil {
		return nil
	}
	biggest := int64(0)
	for _, t := range f.Templates {
		biggest = max(biggest, t.SizeBytes)
	}
	var out []Finding
	for _, d := range f.Places.Datastores {
		out = append(out, datastore(d, biggest, f.Places.Cluster)...)
	}
	return out
}

func datastore(d survey.Datastore, biggest int64, c *survey.Cluster) []Finding {
	name := untrusted.Name(d.Path)
	add := func(id string, level Level, says, fix string, cmd []string) Finding {
		return Finding{ID: id, Level: level, Says: says, Fix: fix, Command: cmd, Objects: 1, Kind: string(privileges.Datastore)}
	}
	if d.Unread != nil {
		return []Finding{withProblem(add("datastore-unread", Warn, fmt.Sprintf("Datastore %s cannot be read: %s", name, d.Unread.Text), "Give the account the role Read-only there.", nil), d.Unread)}
	}
	var out []Finding
	if !d.Accessible {
		out = append(out, add("datastore-inaccessible", Fail, fmt.Sprintf("No host reaches datastore %s.", name), "Bring its storage back, or name another datastore:", command("govc", "datastore.info", d.Path)))
	}
	if d.Maintenance != "" && d.Maintenance != "normal" {
		out = append(out, add("datastore-maintenance", Fail, fmt.Sprintf("Datastore %s is in maintenance mode, or enters it.", name),
			"End that (vSphere Client: the datastore > Maintenance Mode > Exit), or name another datastore.", nil))
	}
	if d.Capacity > 0 && (d.Free < littleSpace || d.Free < d.Capacity/100*littleShare || d.Free < biggest) {
		level := Warn
		if d.Free < biggest || d.Free < gib {
			level = Fail
		}
		out = append(out, add("datastore-full", level, fmt.Sprintf("Datastore %s has %d GiB of %d GiB left.", name, d.Free/gib, d.Capacity/gib), "Free space on it, or name another datastore:",
			command("govc", "datastore.info", d.Path)))
	}
	if c != nil && len(d.Lacks) > 0 {
		out = append(out, add("datastore-not-on-all-hosts", Warn, fmt.Sprintf("%d of %s of %s do not have datastore %s, and run no VM on it.",
			len(d.Lacks), plural(c.Hosts, "host"), untrusted.Name(c.Path), name), "Mount it on all hosts (vSphere Client: the datastore > Mount Datastore to Additional Hosts), or name another one.", nil))
	}
	return out
}

func networks(f *survey.Facts, _ Settings) []Finding {
	if f.Places == nil {
		return nil
	}
	var out []Finding
	for _, n := range f.Places.Networks {
		name, c := untrusted.Name(n.Path), f.Places.Cluster
		switch {
		case n.Unread != nil:
			out = append(out, withProblem(Finding{ID: "network-unread", Level: Warn, Objects: 1, Kind: string(privileges.Network),
				Says: fmt.Sprintf("Network %s cannot be read: %s", name, n.Unread.Text), Fix: "Give the account the role Read-only there."}, n.Unread))
		case c != nil && n.Hosts > 0 && len(n.Lacks) > 0: // if no host has it, placement reports it
			out = append(out, Finding{ID: "network-not-on-all-hosts", Level: Warn, Objects: 1, Kind: string(privileges.Network),
				Says: fmt.Sprintf("%d of %s of %s do not have network %s, and run no VM on it.", len(n.Lacks), plural(c.Hosts, "host"), untrusted.Name(c.Path), name),
				Fix:  "Connect all hosts to it (vSphere Client: the host > Configure > Virtual switches), or name another network."})
		}
	}
	return out
}

func placesSaid(f *survey.Facts, _ Settings) string {
	if f.Places == nil || f.Places.Problem != nil {
		return ""
	}
	said := "New VMs go below " + untrusted.Name(f.Places.Folder)
	if !f.Places.FolderMade {
		said += " (the root folder is created there)"
	}
	if f.Places.Pool.Path != "" {
		said += " and into resource pool " + untrusted.Name(f.Places.Pool.Path)
	}
	if c := f.Places.Cluster; c != nil {
		said += ", which has " + plural(c.Hosts, "host")
	}
	return said + "."
}

// truncated reports whether a part of a path is unknown.
func truncated(path string) bool { return inventoryname.Truncated(path) }
