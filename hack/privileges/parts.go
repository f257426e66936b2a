package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
)

// parts are the generated parts of pages, by name.
var parts = map[string]string{
	"table": table(),
	"roles": roles(),
	"extra": extra(),
}

// part matches a generated part of a page: <!-- privileges: table --> up to <!-- end of privileges -->.
var part = regexp.MustCompile(`(?s)(<!-- privileges: (\w+) -->\n).*?(<!-- end of privileges -->)`)

// fill returns the page with new generated parts, and the names of these parts.
func fill(page []byte) (filled []byte, names []string, err error) {
	filled = part.ReplaceAllFunc(page, func(found []byte) []byte {
		match := part.FindSubmatch(found)
		name := string(match[2])
		names = append(names, name)
		text, ok := parts[name]
		if !ok {
			err = fmt.Errorf("there is no part %q", name)
		}
		return []byte(string(match[1]) + text + string(match[3]))
	})
	return filled, names, err
}

func table() string {
	var out strings.Builder
	out.WriteString("\n| On | In the vSphere Client | ID | Needed |\n| --- | --- | --- | --- |\n")
	var last privileges.Object
	for _, p := range privileges.All() {
		on := ""
		if p.Object != last {
			on, last = p.Object.Words()+" ", p.Object
		}
		fmt.Fprintf(&out, "| %s| %s | `%s` | %s |\n", on, p.UIName, p.ID, needed(p))
	}
	out.WriteString("\n")
	return out.String()
}

func needed(p privileges.Privilege) string {
	switch {
	case p.Needed == privileges.Always:
		return "always"
	case p.Optional:
		return "optional: if " + p.Needed
	}
	return "if " + p.Needed
}

// longest limits the characters in a line of a command.
const longest = 110

func roles() string {
	var out strings.Builder
	out.WriteString("\n```sh\n")
	for _, role := range privileges.Roles() {
		out.WriteString(command("govc role.create "+role.Name, role.Privileges))
	}
	out.WriteString("```\n\n")
	return out.String()
}

// extra returns commands that extend the first role, with the condition of each.
func extra() string {
	var out strings.Builder
	out.WriteString("\n```sh\n")
	var conditions []string
	ids := map[string][]string{}
	for _, p := range privileges.Extra() {
		if ids[p.Needed] == nil {
			conditions = append(conditions, p.Needed)
		}
		ids[p.Needed] = append(ids[p.Needed], p.ID)
	}
	for _, condition := range conditions {
		fmt.Fprintf(&out, "# if %s\n%s", condition, command("govc role.update -a "+privileges.RoleName, ids[condition]))
	}
	out.WriteString("```\n\n")
	return out.String()
}

// command formats a shell command with its arguments in lines of limited length.
func command(line string, args []string) string {
	var out strings.Builder
	for _, arg := range args {
		if len(line)+len(arg)+len(" ")+len(` \`) > longest {
			out.WriteString(line + " \\\n")
			line = " "
		}
		line += " " + arg
	}
	return out.String() + line + "\n"
}
