package vcenter

import (
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

const (
	// slowListing is the limit for a listing of the datacenter. A slower one is reported.
	slowListing = 30 * time.Second
	// growth is the limit of new sessions of the account during the check. nearLimit is the limit of sessions of all
	// clients: vCenter allows 2,000, or 3,000 since 8.0 Update 3.
	growth, nearLimit = 5, 1500
	// maxEmpty limits the empty folders that a sentence names. From manyEmpty on, they are a warning: each replica lists them every five minutes.
	maxEmpty, manyEmpty = 50, 1000
)

func lists(f *survey.Facts, _ Settings) []Finding {
	if f.Reading == nil {
		return nil
	}
	var out []Finding
	for _, part := range []struct {
		id, what string
		problem  *survey.Problem
	}{
		{"listing", "The inventory cannot be listed", f.Reading.Listing},
		{"next-page", "A listing ends after its first page", f.Reading.NextPage},
		{"updates", "vCenter reports no changes", f.Reading.Updates},
		{"events", "Events cannot be read", f.Reading.Events},
		{"recent-tasks", "Recent tasks cannot be read", f.Reading.Tasks},
	} {
		if part.problem == nil {
			continue
		}
		finding := Finding{ID: part.id, Level: Fail, Says: part.what + ": " + part.problem.Text, Fix: "Report this with -o json."}
		if part.problem.Kind == vsphere.KindPermission {
			finding.Fix = "Give the account the role Read-only on the root object, without propagation:"
			finding.Command = command("govc", "permissions.set", "-principal", userOf(f), "-role", readOnly, "-propagate=false", "/")
		}
		out = append(out, withProblem(finding, part.problem))
	}
	return out
}

func slow(f *survey.Facts, _ Settings) []Finding {
	if f.Reading == nil || f.Reading.Took < slowListing {
		return nil
	}
	return []Finding{{ID: "slow-listing", Level: Warn, Says: fmt.Sprintf("A listing of %s took %s.", plural(f.Reading.Objects, "object"), f.Reading.Took.Round(time.Second)),
		Fix: "Set spec.templates.folders, so that the operator lists less, and check the load of vCenter."}}
}

// emptyFolders reports the folders that the operator does not remove: those of namespaces and members, and those of groups of members that left.
// The operator recreates the folder of a group that needs one.
func emptyFolders(f *survey.Facts, _ Settings) []Finding {
	if f.Reading == nil || f.Reading.EmptyFolders == 0 {
		return nil
	}
	out := Finding{ID: "empty-folders", Objects: f.Reading.EmptyFolders, Kind: string(privileges.RootFolder), Says: fmt.Sprintf(
		"%s below the root folder contain no VM, in these: %s.", plural(f.Reading.EmptyFolders, "folder"), namedUpTo(f.Reading.Empty, maxEmpty)),
		Fix: "In vCenter, you can delete those whose member, namespace or VmGroup does not exist any more (vSphere Client: the folder > Delete from Disk, which deletes all that the folder contains)."}
	if f.Reading.EmptyFolders >= manyEmpty {
		out.Level = Warn
	}
	return []Finding{out}
}

func readingSaid(f *survey.Facts, _ Settings) string {
	if f.Reading == nil {
		return ""
	}
	return fmt.Sprintf("Listed %s in %s within %s; news, events and recent tasks can be read.",
		plural(f.Reading.Objects, "object"), plural(f.Reading.Pages, "page"), f.Reading.Took.Round(100*time.Millisecond))
}

func probeFailed(f *survey.Facts, _ Settings) []Finding {
	if f.Probe == nil || f.Probe.Failed == "" {
		return nil
	}
	p := f.Probe.Problem
	out := Finding{ID: "probe-failed", Level: Fail, Says: fmt.Sprintf("The probe failed to %s: %s", f.Probe.Failed, p.Text),
		Fix: "Correct what the other lines name first, then what this message names. The task in the vSphere Client has the details."}
	return []Finding{withProblem(out, p)}
}

func probeLeft(f *survey.Facts, _ Settings) []Finding {
	if f.Probe == nil || f.Probe.Left == nil {
		return nil
	}
	return []Finding{withProblem(Finding{ID: "probe-left", Level: Fail, Says: "The probe could not remove its folder: " + f.Probe.Left.Text,
		Fix: "Run the check with --probe again in a few minutes: it removes what an earlier one has left."}, f.Probe.Left)}
}

// probeSaw reports differences from the behavior that the operator relies on.
func probeSaw(f *survey.Facts, _ Settings) []Finding {
	p := f.Probe
	if p == nil || p.Failed != "" {
		return nil
	}
	var out []Finding
	add := func(bad bool, id string, level Level, says, fix string) {
		if bad {
			out = append(out, Finding{ID: id, Level: level, Says: says, Fix: fix})
		}
	}
	const report = "Report this with -o json."
	add(!p.UUIDKept, "probe-uuid", Warn, "vCenter gave the VM another instance UUID than the one that was asked for.", report)
	add(!p.MACNew, "probe-mac", Fail, "The VM has a MAC address of its template.", "Set the addresses of the template's adapters to automatic.")
	add(!p.KeysKept, "probe-disks", Warn, "The VM's disks have other device keys than those of its template, so that deletions wait for a person.", report)
	add(!p.GuestInfo, "probe-guestinfo", Warn, "What was written into guestinfo does not read back.", report)
	add(!p.Tools, "probe-tools", Warn, "VMware Tools did not run within a minute, so that guests are powered off and not shut down, and readiness by tools or address never comes.",
		"Install open-vm-tools in the template, and check that the guest boots.")
	add(p.Tools && !p.IP, "probe-address", Warn, "The guest reported no IP address within a minute.", "Check DHCP in the network of the VM.")
	return out
}

func leftovers(f *survey.Facts, _ Settings) []Finding {
	out := make([]Finding, 0, len(f.Leftovers))
	for _, l := range f.Leftovers {
		name := untrusted.Name(l.Path)
		finding := Finding{ID: "leftover", Level: Warn, Objects: 1, Kind: "Folder",
			Says: fmt.Sprintf("A probe that was killed has left folder %s.", name), Fix: "Run the check with --probe: it removes the folder and the VM in it."}
		switch {
		case l.Removed:
			continue
		case l.Foreign:
			finding.ID, finding.Fix = "leftover-foreign", l.Problem.Text+"."
		case l.Problem != nil:
			finding = withProblem(finding, l.Problem)
			finding.Says += " It could not be removed: " + l.Problem.Text
		case f.Probe != nil:
			finding.Fix = fmt.Sprintf("That probe may still run. Run the check with --probe after %s.", l.Until.UTC().Format(time.RFC3339))
		}
		out = append(out, finding)
	}
	return out
}

func probeSaid(f *survey.Facts, _ Settings) string {
	p := f.Probe
	if p == nil || p.Failed != "" {
		return ""
	}
	said := fmt.Sprintf("Cloned a VM in %s, powered it on in %s", p.CloneTook.Round(100*time.Millisecond), p.PowerOnTook.Round(100*time.Millisecond))
	if p.Tools {
		said += fmt.Sprintf(", saw VMware Tools after %s", p.ToolsTook.Round(time.Second))
	}
	return said + ", and removed it."
}

func sessionsGrow(f *survey.Facts, _ Settings) []Finding {
	if len(f.Sessions) < 2 {
		return nil
	}
	first, last := f.Sessions[0], f.Sessions[len(f.Sessions)-1]
	if last.Account-first.Account <= growth && last.Unnamed-first.Unnamed <= growth {
		return nil
	}
	return []Finding{{ID: "sessions-grow", Level: Warn,
		Says: fmt.Sprintf("The account had %d sessions and %d after %s, of %d in all. vCenter has room for 2,000 of all clients.",
			first.Account, last.Account, last.At.Sub(first.At).Round(time.Second), last.All),
		Fix: "Find the client that logs in and not out, such as an older operator or a script, and end its sessions:", Command: command("govc", "session.ls")}}
}

func sessionsNearLimit(f *survey.Facts, _ Settings) []Finding {
	if len(f.Sessions) == 0 || f.Sessions[len(f.Sessions)-1].All < nearLimit {
		return nil
	}
	return []Finding{{ID: "sessions-many", Level: Warn, Says: fmt.Sprintf("vCenter holds %d sessions, and refuses more from 2,000 or 3,000 on.", f.Sessions[len(f.Sessions)-1].All),
		Fix: "Find the client that does not log out, and end its sessions:", Command: command("govc", "session.ls")}}
}

// ownSession reports differences in the data by which the operator recognizes its own sessions.
func ownSession(f *survey.Facts, _ Settings) []Finding {
	if len(f.Sessions) == 0 || f.Sessions[0].Hidden || f.Sessions[0].Problem != nil {
		return nil
	}
	switch s := f.Sessions[0]; {
	case !s.Own:
		return []Finding{{ID: "own-session-missing", Level: Warn, Says: "vCenter does not list the session of this check.", Fix: "Report this with -o json."}}
	case !s.Whole:
		return []Finding{{ID: "own-session-cut", Level: Warn, Says: "vCenter shortens the user agent of sessions, so that the operator does not find those of replicas that were killed.",
			Fix: "Give the VCenter object a shorter name, and report this with -o json."}}
	}
	return nil
}

func sessionsSaid(f *survey.Facts, _ Settings) string {
	if len(f.Sessions) == 0 {
		return ""
	}
	last := f.Sessions[len(f.Sessions)-1]
	if last.Hidden {
		return "The account does not see sessions."
	}
	return fmt.Sprintf("%s of this account, %d in all.", plural(last.Account, "session"), last.All)
}
