package group

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// sources are the packages whose messages appear in status.
var sources = []string{".", "../plan", "../policy", "../controller/vmgroup", "../observe", "../vsphere/govmomi", "../quota", "../receipts"}

// sentences are all texts of the sources that can be messages.
func sentences(t *testing.T) (all []string) {
	t.Helper()
	for _, dir := range sources {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, code, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(node ast.Node) bool {
				if text := constant(node); strings.Count(text, " ") > 1 {
					all = append(all, text)
					return false
				}
				return true
			})
		}
	}
	return all
}

// constant is a quoted text, or the concatenation of several, or "".
func constant(node ast.Node) string {
	switch node := node.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(node.Value); err == nil && node.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		left, right := constant(node.X), constant(node.Y)
		if node.Op == token.ADD && left != "" && right != "" {
			return left + right
		}
	}
	return ""
}

var verb = regexp.MustCompile(`%[-+# 0]*[0-9.]*[a-zA-Z]`)

// longest are the longest names that a message can have, and short ones.
var longest = [][]string{
	{"web-0", "default", "linux-12"},
	{strings.Repeat("w", 63) + "-499 (vm-123456)", strings.Repeat("v", 253), "/" + strings.Repeat("folder/", 35) + "template"},
	{strconv.Quote(strings.Repeat("ä b", 26)), strings.Repeat("ü", 253), "cluster.example.com:6443: dial tcp 10.0.0.1:6443: connect: connection refused"},
}

// filledIn is a message with names in the places of its verbs.
func filledIn(sentence string, names []string) string {
	i := 0
	return verb.ReplaceAllStringFunc(sentence, func(v string) string {
		if v[len(v)-1] == 'd' {
			return "1073741824"
		}
		i++
		return names[i%len(names)]
	})
}

// told are the statuses that report a blocker: it holds the group until a user acts, or for a
// while, it is only noted, or it explains an unknown state.
func told(b plan.Blocker) map[string]v1alpha1.VmGroupStatus {
	all := map[string]v1alpha1.VmGroupStatus{}
	for story, change := range map[string]func(*Facts){
		"a user must act":  func(*Facts) { b.Terminal = true },
		"it waits":         func(f *Facts) { f.Plan.Ready, f.Plan.Settled = 1, false },
		"it is remarked":   func(*Facts) { b.Remark = true },
		"nothing is known": func(f *Facts) { f.Complete, f.Incomplete = false, b.Message },
		"it takes too long": func(f *Facts) {
			f.Plan.Ready, f.Plan.Settled = 1, false
			f.Spec.Readiness = &v1alpha1.Readiness{ProgressDeadlineSeconds: 1}
			f.Old.Conditions = f.Status().Conditions
			f.Now = f.Now.Add(5e9)
		},
	} {
		f, was := running(), b
		change(&f)
		f.Plan.Blockers = []plan.Blocker{b}
		all[story], b = f.Status(), was
	}
	return all
}

// TestLastMessageOfEverySentenceFitsAColumn puts the longest names into all messages in the code.
func TestLastMessageOfEverySentenceFitsAColumn(t *testing.T) {
	all := sentences(t)
	if len(all) < 400 {
		t.Fatalf("only %d sentences were found", len(all))
	}
	for _, sentence := range all {
		for _, names := range longest {
			checkHeadlines(t, filledIn(sentence, names))
		}
	}
}

func TestLastMessageOfAnyTextFitsAColumn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.OneOf(rapid.StringN(1, 300, 600), rapid.SampledFrom([]string{"a", "VM", "(vm-1)", "\"", "(", ".", ";", ":"})), 1, 60).Draw(t, "words")
		checkHeadlines(t, strings.Join(words, " "))
	})
}

type errorer interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkHeadlines: a column's text is short, and begins like the message, which the condition has in full.
func checkHeadlines(t errorer, sentence string) {
	t.Helper()
	for story, s := range told(plan.Blocker{Reason: v1alpha1.ReasonVMsLost, Message: sentence}) {
		if n := utf8.RuneCountInString(s.LastMessage); n > 120 || n == 0 || !utf8.ValidString(s.LastMessage) {
			t.Errorf("%s: lastMessage has %d characters: %q", story, n, s.LastMessage)
		}
		whole := untrusted.Text(sentence, maxCondition/2)
		ready, stalled := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionStalled)
		if !strings.Contains(ready.Message, strings.TrimRight(whole, "….")) && (stalled == nil || !strings.Contains(stalled.Message, strings.TrimRight(whole, "…."))) {
			t.Errorf("%s: no condition has %q: Ready says %q", story, whole, ready.Message)
		}
		if story == "a user must act" && !sameBegin(s.LastMessage, whole) {
			t.Errorf("%s: lastMessage %q does not begin as %q", story, s.LastMessage, whole)
		}
	}
}

// sameBegin compares as many characters as remain of a long name.
func sameBegin(a, b string) bool {
	begin := func(s string) string {
		runes := []rune(strings.TrimRight(s, ". …"))
		return string(runes[:min(len(runes), longWord/2)])
	}
	return strings.HasPrefix(strings.TrimRight(a, ". …"), begin(b)) || strings.HasPrefix(b, begin(a))
}

func TestHeadlines(t *testing.T) {
	long := strings.Repeat("w", 60)
	for text, want := range map[string]string{
		"all is well.": "all is well",
		"vg-1-0 is outside of the operator's root folder": "vg-1-0 is outside of the operator's root folder",
		"spec.template: template \"x\" does not exist in VCenter \"default\". Correct spec.template, or create the template; the group continues automatically either way": "spec.template: template \"x\" does not exist in VCenter \"default\". Correct spec.template, or create the template",
		long + "-499 and 12 more are outside of the operator's root folder, where the operator does not touch VMs":                                                         strings.Repeat("w", 20) + "…" + strings.Repeat("w", 15) + "-499 and 12 more are outside of the operator's root folder",
		"web-1: clone: no room (vCenter's fault InsufficientResourcesFault, which means that the cluster has neither memory nor processors)":                               "web-1: clone: no room",
		strings.Repeat("one word after another ", 9): strings.Repeat("one word after another ", 5) + "one…",
	} {
		if got := headline(text); got != want {
			t.Errorf("of %q: %q, want %q", text, got, want)
		}
	}
}
