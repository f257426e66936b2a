package vcenter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

// objects are the words for a privilege's object, which precede its path.
var objects = map[privileges.Object]string{
	privileges.Datacenter: "datacenter", privileges.Cluster: "", privileges.RootFolder: "root folder", privileges.Template: "template",
	privileges.ResourcePool: "resource pool", privileges.Datastore: "datastore", privileges.Network: "network", privileges.Switch: "distributed switch",
}

// rootless are the first affected API version and the first later one without the fault. In these versions, vCenter
// refuses all pages of a listing but the first if the account has no permission on the root object.
var rootless = [2]version{{7, 0, 3, 2}, {8, 0, 3}}

func rightsUnread(f *survey.Facts, _ Settings) []Finding {
	if !slices.ContainsFunc(f.Rights, func(r survey.Rights) bool { return r.Unread }) {
		return nil
	}
	return []Finding{{ID: "privileges-unread", Level: Warn, Says: "vCenter does not return the account's privileges.", Fix: "Compare the role of the account with docs/how-to/vcenter-account.md."}}
}

// lack lists the missing privileges of an account on objects of a kind.
type lack struct {
	level Level
	ids   []string
	names []string
	why   []string
	on    []survey.Rights
	// all is true if the account has none of the privileges there that each installation needs.
	all bool
}

// missingRights compares the privileges of the account with those that the operator needs. One finding covers all
// objects of a kind with the same missing privileges.
func missingRights(f *survey.Facts, s Settings) []Finding {
	var lacks []lack
	for _, r := range f.Rights {
		if r.Unread {
			continue
		}
		for _, l := range lacksOf(r, f, s) {
			lacks = merged(lacks, l)
		}
	}
	out := make([]Finding, 0, len(lacks))
	for _, l := range lacks {
		out = append(out, l.finding(f))
	}
	return out
}

// merged adds the missing privileges of an object to the finding of its kind with the same missing privileges.
func merged(lacks []lack, l lack) []lack {
	i := slices.IndexFunc(lacks, func(other lack) bool {
		return other.on[0].Kind == l.on[0].Kind && slices.Equal(other.ids, l.ids) && other.level == l.level
	})
	if i < 0 {
		return append(lacks, l)
	}
	lacks[i].on = append(lacks[i].on, l.on...)
	return lacks
}

// lacksOf returns the missing privileges of an account on an object, separately for failures and warnings.
func lacksOf(r survey.Rights, f *survey.Facts, s Settings) (out []lack) {
	all := true
	byLevel := map[Level]lack{}
	for _, p := range privileges.All() {
		if p.Object != r.Kind {
			continue
		}
		if slices.Contains(r.Has, p.ID) {
			all = all && (p.Needed != privileges.Always || p.ID == vsphere.PrivilegeRead)
			continue
		}
		level := needed(p, r, f, s)
		l := byLevel[level]
		l.level, l.on = level, []survey.Rights{r}
		l.ids, l.names = append(l.ids, p.ID), append(l.names, fmt.Sprintf("%s (%s)", p.ID, p.UIName))
		if p.Needed != "" {
			l.why = append(l.why, "if "+p.Needed)
		}
		byLevel[level] = l
	}
	for _, level := range []Level{Fail, Warn} {
		if l, lacks := byLevel[level]; lacks {
			l.all = all && level == Fail
			out = append(out, l)
		}
	}
	return out
}

// needed returns the level of a missing privilege on an object. A privilege that only some groups need is reported only
// for those groups.
func needed(p privileges.Privilege, on survey.Rights, f *survey.Facts, s Settings) Level {
	switch p.Needed {
	case privileges.Always, privileges.ForSwitches:
		return Fail
	case privileges.ForSessions:
		return Warn
	case privileges.ForNetworks:
		if s.Network {
			return Fail
		}
	case privileges.ForVApp:
		if slices.ContainsFunc(f.Templates, func(t survey.Template) bool { return t.VApp }) {
			return Warn
		}
	case privileges.ForCrypto:
		if slices.ContainsFunc(f.Templates, func(t survey.Template) bool { return t.Ref == on.Ref && (t.TPM || t.Encrypted) }) {
			return Fail
		}
	}
	return OK
}

func (l lack) finding(f *survey.Facts) Finding {
	kind := l.on[0].Kind
	paths := make([]string, 0, len(l.on))
	for _, r := range l.on {
		paths = append(paths, cmp.Or(r.Path, r.Ref))
	}
	where := strings.TrimSpace(objects[kind] + " " + named(paths))
	if kind == privileges.Root {
		where = "the vCenter's root object (/)"
	}
	out := Finding{
		ID: "privileges-missing", Level: l.level, Objects: len(l.on), Kind: string(kind), Privileges: l.ids,
		Says: fmt.Sprintf("The account lacks %s on %s.", strings.Join(l.names, ", "), where),
	}
	if len(l.why) > 0 {
		slices.Sort(l.why)
		out.Says += " It is needed " + strings.Join(slices.Compact(l.why), "; ") + "."
	}
	user := userOf(f)
	switch {
	case kind == privileges.Root && slices.Contains(l.ids, vsphere.PrivilegeRead):
		out.ID = "root-read"
		if listingBug(f) {
			out.Says += " This version of vCenter refuses long listings without it."
		}
		out.Fix = "Give the account the role Read-only, or one with Sessions.TerminateSession, on the root object, without propagation:"
		out.Command = command("govc", "permissions.set", "-principal", user, "-role", readOnly, "-propagate=false", "/")
	case kind == privileges.Root:
		out.Fix = "Give the account a role with it on the root object, without propagation:"
		out.Command = command("govc", "permissions.set", "-principal", user, "-role", privileges.RootRoleName, "-propagate=false", "/")
	case l.all:
		out.Fix = fmt.Sprintf("Give the account the role %s there, with propagation (vSphere Client: the object > Permissions > Add):", privileges.RoleName)
		out.Command = command("govc", "permissions.set", "-principal", user, "-role", privileges.RoleName, "-propagate=true", paths[0])
	default:
		out.Fix = fmt.Sprintf("Add this to the account's role (vSphere Client: Administration > Roles > %s > Edit), and check that the role is given there:", privileges.RoleName)
		out.Command = command(slices.Concat([]string{"govc", "role.update", "-a", privileges.RoleName}, l.ids)...)
	}
	return out
}

// userOf returns the account as commands need it. govc accepts DOMAIN\user and user@domain.
func userOf(f *survey.Facts) string {
	if f.Login == nil {
		return ""
	}
	if domain, name, found := strings.Cut(f.Login.User, `\`); found {
		return name + "@" + strings.ToLower(domain)
	}
	return f.Login.User
}

func listingBug(f *survey.Facts) bool {
	if f.Server.About == nil {
		return false
	}
	v, err := parseVersion(f.Server.About.APIVersion)
	return err == nil && !v.less(rootless[0]) && v.less(rootless[1])
}

// hiddenSwitch reports port groups that no adapter can connect to.
func hiddenSwitch(f *survey.Facts, _ Settings) []Finding {
	if f.Places == nil {
		return nil
	}
	var out []Finding
	for _, n := range f.Places.Networks {
		if !n.SwitchHidden {
			continue
		}
		level := Warn
		if n.Wanted {
			level = Fail
		}
		out = append(out, Finding{
			ID: "switch-hidden", Level: level, Objects: 1, Kind: string(privileges.Switch), Privileges: []string{vsphere.PrivilegeRead},
			Says: fmt.Sprintf("The account does not see the distributed switch of port group %s, so no VM can be connected to it.", untrusted.Name(n.Path)),
			Fix:  "Give the account the role Read-only on the switch (vSphere Client: Networking > the switch > Permissions > Add):",
			Command: func() []string {
				if n.Switch.Ref == "" {
					return nil
				}
				return command("govc", "permissions.set", "-principal", userOf(f), "-role", readOnly, "-propagate=false", n.Switch.Ref)
			}(),
		})
	}
	return out
}

func rightsSaid(f *survey.Facts, _ Settings) string {
	if len(f.Rights) == 0 {
		return ""
	}
	said := fmt.Sprintf("The account has what it needs on %s.", plural(len(f.Rights), "object"))
	if slices.ContainsFunc(f.Rights, func(r survey.Rights) bool {
		return r.Kind == privileges.RootFolder && !r.Unread && !slices.Contains(r.Has, vsphere.PrivilegeDisks)
	}) {
		said += fmt.Sprintf(" If %s, it also needs %s on the root folder.", privileges.ForDisks, vsphere.PrivilegeDisks)
	}
	return said
}
