// Package vcenter judges whether the operator can work with a vCenter, for `manager check vcenter`. It does no I/O.
// Package govmomi reads the facts.
package vcenter

import (
	"fmt"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

// Level of a finding.
type Level int

// Levels.
const (
	OK Level = iota
	Warn
	Fail
)

func (l Level) String() string { return [...]string{"ok", "warn", "FAIL"}[l] }

// Step of the check.
type Step string

// Steps, in the order in which they are printed.
const (
	Connection Step = "connection"
	Version    Step = "version"
	Login      Step = "login"
	Privileges Step = "privileges"
	Places     Step = "places"
	Templates  Step = "templates"
	Reading    Step = "reading"
	Probing    Step = "probe"
	Sessions   Step = "sessions"
)

// Finding is one line of the table.
type Finding struct {
	Step  Step
	ID    string
	Level Level
	// Says is a sentence with names, and Fix is the remedy. Command contains the words of a shell command for the
	// remedy. Command is empty if a shell would misread one of the names.
	Says, Fix string
	Command   []string
	// Objects is the number of objects of a Kind, Privileges are the missing ones, and Fault is the name of vCenter's
	// fault. These fields contain no names.
	Objects    int
	Kind       string
	Privileges []string
	Fault      string
}

// Settings are the inputs of the judgement besides the facts.
type Settings struct {
	// VCenter is the name of the object on the hub. Namespace is the namespace of its Secret. Both are empty if the user names a server.
	VCenter, Namespace, Secret string
	// Network is true if the settings name a default network.
	Network bool
}

// readOnly is vCenter's read-only role, as govc spells it.
const readOnly = "ReadOnly"

// rule checks one property. It returns no finding if the property is correct.
type rule func(f *survey.Facts, s Settings) []Finding

// part is a step with its rules. said returns the line if no rule has a finding, or "" if the step was not reached.
type part struct {
	step  Step
	rules []rule
	said  func(f *survey.Facts, s Settings) string
}

var parts = []part{
	{Connection, []rule{unreachable, fullOfSessions, actionRefused, certificateRefused, certificateEnds, unchecked, plainHTTP}, connectionSaid},
	{Version, []rule{notVCenter, tooOld}, versionSaid},
	{Login, []rule{loginRefused, clock}, loginSaid},
	{Privileges, []rule{rightsUnread, missingRights, hiddenSwitch}, rightsSaid},
	{Places, []rule{placesUnread, placement, unseen, hostsAway, drs, datastores, networks}, placesSaid},
	{Templates, []rule{noTemplates, addresses, adapters, sockets, devices, reservations, templateStorage, templateTools, sharedTPM, ownUserData}, templatesSaid},
	{Reading, []rule{lists, slow, emptyFolders}, readingSaid},
	{Probing, []rule{probeFailed, probeLeft, probeSaw, leftovers}, probeSaid},
	{Sessions, []rule{sessionsGrow, sessionsNearLimit, ownSession}, sessionsSaid},
}

// Judge returns the findings of each step's rules, or one line for a step without findings.
func Judge(f *survey.Facts, s Settings) []Finding {
	var all []Finding
	for _, p := range parts {
		worst := OK
		for _, r := range p.rules {
			for _, finding := range r(f, s) {
				finding.Step = p.step
				all = append(all, finding)
				worst = max(worst, finding.Level)
			}
		}
		if said := p.said(f, s); said != "" && worst == OK {
			all = append(all, Finding{Step: p.step, ID: string(p.step), Says: said})
		}
	}
	return all
}

// Worst returns the highest level.
func Worst(found []Finding) Level {
	worst := OK
	for _, f := range found {
		worst = max(worst, f.Level)
	}
	return worst
}

// Unreachable reports whether nothing answered at the address.
func Unreachable(f *survey.Facts) bool { return f.Server.Unreachable != nil }

// maxNamed limits the objects that a sentence names.
const maxNamed = 3

// named lists objects for a sentence.
func named(paths []string) string { return namedUpTo(paths, maxNamed) }

func namedUpTo(paths []string, most int) string {
	out := make([]string, 0, most)
	for _, path := range paths[:min(len(paths), most)] {
		out = append(out, untrusted.Name(path))
	}
	said := strings.Join(out, ", ")
	if more := len(paths) - len(out); more > 0 {
		said += fmt.Sprintf(" and %d more", more)
	}
	return said
}

// command returns the words of a command, or nil if one of them is not safe in a shell.
func command(words ...string) []string {
	for _, w := range words {
		if !untrusted.Plain(strings.NewReplacer("=", "", ",", "").Replace(w)) {
			return nil
		}
	}
	return words
}

func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// withProblem adds the fault and the missing privilege of vCenter's answer to a finding.
func withProblem(f Finding, p *survey.Problem) Finding {
	f.Fault = p.Fault
	if p.Privilege != "" {
		f.Privileges = []string{p.Privilege}
	}
	return f
}
