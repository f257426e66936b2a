package vcenter

import (
	"fmt"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

const (
	// oldHardware is the newest hardware version that is reported as old.
	oldHardware = 9
	// inTheClient is the procedure to edit a template.
	inTheClient = "vSphere Client: Convert to Virtual Machine, Edit Settings, then Convert to Template"
)

// paths returns the paths of the templates that match.
func paths(f *survey.Facts, match func(survey.Template) bool) (out []string) {
	for _, t := range f.Templates {
		if match(t) {
			out = append(out, t.Path)
		}
	}
	return out
}

// about returns a finding about the templates that match, or no finding if none matches.
func about(f *survey.Facts, id string, level Level, says, fix string, match func(survey.Template) bool) []Finding {
	which := paths(f, match)
	if len(which) == 0 {
		return nil
	}
	return []Finding{{ID: id, Level: level, Says: fmt.Sprintf(says, named(which)), Fix: fix, Objects: len(which), Kind: string(privileges.Template)}}
}

func anyAdapter(match func(survey.Adapter) bool) func(survey.Template) bool {
	return func(t survey.Template) bool {
		for _, a := range t.Adapters {
			if match(a) {
				return true
			}
		}
		return false
	}
}

func noTemplates(f *survey.Facts, _ Settings) []Finding {
	if f.Places == nil || f.Places.Problem != nil || len(f.Templates) > 0 {
		return nil
	}
	return []Finding{{ID: "no-templates", Level: Warn, Says: "The account sees no template that the settings allow.",
		Fix: "Convert a VM to a template, give the account its role there, or correct spec.templates.folders. See which it sees:", Command: command("govc", "find", "/", "-type", "m", "-config.template", "true")}}
}

func addresses(f *survey.Facts, _ Settings) []Finding {
	return about(f, "manual-mac", Fail, "A network adapter of %s has a MAC address that was set by hand, which all VMs would share. The operator refuses such a template.",
		"Set the address to automatic ("+inTheClient+").", anyAdapter(func(a survey.Adapter) bool { return a.ManualMAC }))
}

func adapters(f *survey.Facts, s Settings) []Finding {
	out := about(f, "adapter-not-connected", Warn, "A network adapter of %s is not connected at power-on.", "Select Connect At Power On ("+inTheClient+").",
		anyAdapter(func(a survey.Adapter) bool { return !a.StartConnected }))
	if s.Network {
		out = append(out, about(f, "no-adapter", Fail, "%s has no network adapter to connect to the network that the settings name.", "Add a network adapter ("+inTheClient+").",
			func(t survey.Template) bool { return len(t.Adapters) == 0 })...)
	}
	return append(out, about(f, "slow-adapter", Warn, "A network adapter of %s is an emulated one (E1000 or Vlance), which is slow.", "Use VMXNET 3 ("+inTheClient+").",
		anyAdapter(func(a survey.Adapter) bool {
			return strings.HasPrefix(a.Type, "VirtualE1000") || a.Type == "VirtualPCNet32"
		}))...)
}

func sockets(f *survey.Facts, _ Settings) []Finding {
	return about(f, "cores-per-socket", Warn, "%s has more than one core per socket. VMs whose number of CPUs is no multiple of that get smaller sockets.",
		"Set Cores per Socket to 1 ("+inTheClient+").", func(t survey.Template) bool { return t.CoresPerSocket > 1 })
}

func devices(f *survey.Facts, _ Settings) []Finding {
	out := about(f, "passthrough", Warn, "%s has a device of a host, so that its VMs run on no other host.", "Remove the device ("+inTheClient+").",
		func(t survey.Template) bool { return t.Passthrough })
	out = append(out, about(f, "cdrom", Warn, "A CD drive of %s holds an ISO file. Power-on fails on hosts that do not reach it.", "Set the drive to Client Device ("+inTheClient+").",
		func(t survey.Template) bool { return t.CDROM })...)
	out = append(out, about(f, "first-class-disk", Warn, "%s has a First Class Disk.", "Detach it: volumes of other products are no part of a template.",
		anyDisk(func(d survey.Disk) bool { return d.FirstClass }))...)
	return append(out, about(f, "independent-disk", Warn, "A disk of %s is independent or not persistent, and is no part of snapshots.", "Set the disk mode to Dependent ("+inTheClient+").",
		anyDisk(func(d survey.Disk) bool { return !d.Persistent }))...)
}

func anyDisk(match func(survey.Disk) bool) func(survey.Template) bool {
	return func(t survey.Template) bool {
		for _, d := range t.Disks {
			if match(d) {
				return true
			}
		}
		return false
	}
}

func reservations(f *survey.Facts, _ Settings) []Finding {
	out := about(f, "reservation", Warn, "%s reserves memory or CPU, and so does each of its VMs. Power-on fails when the pool has no more, and if a VM has less memory than is reserved.",
		"Set the reservations to 0 ("+inTheClient+").", func(t survey.Template) bool { return t.ReservedMiB > 0 || t.ReservedMHz > 0 || t.LocksMemory })
	return append(out, about(f, "latency-high", Warn, "%s has latency sensitivity high, which needs all memory to be reserved.", "Set it to Normal (VM Options > Advanced).",
		func(t survey.Template) bool { return t.Latency == "high" })...)
}

func templateStorage(f *survey.Facts, _ Settings) []Finding {
	level, says := Fail, "No host of the resource pool's cluster reaches the datastore of %s."
	if f.Places != nil && len(f.Places.Datastores) > 0 && f.Places.Datastores[0].Wanted {
		level, says = Warn, "No host of the resource pool's cluster reaches the datastore of %s, so that no linked clone can be made of it."
	}
	out := about(f, "template-out-of-reach", level, says, "Move the template to a datastore of that cluster, or name another resource pool or datastore.",
		func(t survey.Template) bool { return t.Out != "" && !truncated(t.Out) })
	return append(out, about(f, "template-host-away", Warn, "The host of %s copies no template now: it is in maintenance mode, or vCenter does not reach it.",
		"Bring the host back, or move the template to another host.", func(t survey.Template) bool { return t.HostAway != "" })...)
}

func templateTools(f *survey.Facts, _ Settings) []Finding {
	out := about(f, "old-tools", Warn, "The version of VMware Tools in %s is older than the ESXi hosts expect.", "Upgrade open-vm-tools in the template.",
		func(t survey.Template) bool {
			return t.ToolsStatus == "guestToolsTooOld" || t.ToolsStatus == "guestToolsBlacklisted" || t.ToolsStatus == "guestToolsSupportedOld"
		})
	return append(out, about(f, "old-hardware", Warn, "%s has a hardware version of ESXi 5.1 or older.", "Upgrade it (vSphere Client: Compatibility > Upgrade VM Compatibility).",
		func(t survey.Template) bool { return t.HardwareVersion > 0 && t.HardwareVersion <= oldHardware })...)
}

// sharedTPM reports versions that copy the TPM of a template.
func sharedTPM(f *survey.Facts, _ Settings) []Finding {
	if f.Server.About == nil {
		return nil
	}
	if v, err := parseVersion(f.Server.About.APIVersion); err != nil || !v.less(version{8, 0, 0, 1}) {
		return nil
	}
	return about(f, "shared-tpm", Warn, "%s has a virtual TPM, which this version of vCenter copies: all VMs have the same secrets in it.",
		"Use vCenter 8.0 or later, or a template without a TPM.", func(t survey.Template) bool { return t.TPM })
}

func ownUserData(f *survey.Facts, _ Settings) []Finding {
	out := about(f, "own-user-data", Warn, "%s carries user data of its own, which VMs without user data keep.", "Remove guestinfo.userdata from its advanced parameters.",
		func(t survey.Template) bool { return t.KeepsUserData })
	return append(out, about(f, "own-stamp", Warn, "%s was made of a VM of the operator and carries its stamp.", "Remove vmgroup.owner from its advanced parameters.",
		func(t survey.Template) bool { return t.KeepsStamp })...)
}

func templatesSaid(f *survey.Facts, _ Settings) string {
	if len(f.Templates) == 0 {
		return ""
	}
	return fmt.Sprintf("%s can be cloned.", plural(len(f.Templates), "template"))
}
