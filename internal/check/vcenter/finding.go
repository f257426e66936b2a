// Package vcenter judges whether a vCenter will work for the operator: `manager check vcenter`. It is pure. Package
// govmomi reads the facts.
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
	// Says is a sentence with names, and Fix what to do. Command are the words of a shell command that does it; none if
	// names are in it that a shell would misread.
	Says, Fix string
	Command   []string
	// Objects is how many objects of a Kind it is about, Privileges which ones are missing, and Fault the name of
	// vCenter's fault: these have no names.
	Objects    int
	Kind       string
	Privileges []string
	Fault      string
}

// Settings are what the judgement needs besides the facts.
type Settings struct {
	// VCenter is the name of the object on the hub, and Namespace that of its Secret; empty where a server is named.
	VCenter, Namespace, Secret string
	// Network is true if the settings name a default network.
	Network bool
}

// readOnly is the role of vCenter, as govc calls it.
const readOnly = "ReadOnly"

// rule finds what is wrong with one thing; nothing if it is right.
type rule func(f *survey.Facts, s Settings) []Finding

// part is a step with its rules. said is the line if no rule finds anything, or empty if the step was not reached.
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
	{Reading, []rule{lists, slow}, readingSaid},
	{Probing, []rule{probeFailed, probeLeft, probeSaw, leftovers}, probeSaid},
	{Sessions, []rule{sessionsGrow, sessionsNearLimit, ownSession}, sessionsSaid},
}

// Judge returns a line for each step that was reached, or the findings of its rules.
func Judge(f *survey.Facts, s Settings) []Finding {
	var all []Finding
	for _, p := range parts {
		found := len(all)
		worst := OK
		for _, r := range p.rules {
			for _, finding := range r(f, s) {
				finding.Step = p.step
				all = append(all, finding)
				worst = max(worst, finding.Level)
			}
		}
		if said := p.said(f, s); said != "" && worst == OK && len(all) == found {
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

// maxNamed bounds how many objects a sentence names.
const maxNamed = 3

// named lists objects for a sentence.
func named(paths []string) string {
	out := make([]string, 0, maxNamed)
	for _, path := range paths[:min(len(paths), maxNamed)] {
		out = append(out, untrusted.Name(path))
	}
	said := strings.Join(out, ", ")
	if more := len(paths) - len(out); more > 0 {
		said += fmt.Sprintf(" and %d more", more)
	}
	return said
}

// command returns the words of a command, or none if one of them may not stand in a shell.
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

// withProblem adds what vCenter said to a finding.
func withProblem(f Finding, p *survey.Problem) Finding {
	f.Fault = p.Fault
	if p.Privilege != "" {
		f.Privileges = []string{p.Privilege}
	}
	return f
}
