package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheMeaningOfAConstantIsItsComment(t *testing.T) {
	for comment, want := range map[string]string{
		"VMs are added": "VMs are added",
		"ReasonInUse: groups use it.\nOthers, too.":                           "Groups use it. Others, too",
		"ConditionPaused of a VmGroup (abnormal): a user\nasked for it.":      "Of a VmGroup (abnormal): a user asked for it",
		"ReasonAllowanceInvalid, also of a VCenter: an annotation is no time": "Also of a VCenter: an annotation is no time",
		"vCenter has no room":      "vCenter has no room",
		"it is held: nothing goes": "It is held: nothing goes",
	} {
		if got := meaning(comment); got != want {
			t.Errorf("%q means %q, want %q", comment, got, want)
		}
	}
}

func TestAConstantWithoutACommentIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.go")
	if err := os.WriteFile(file, []byte("package c\n\n// Reasons.\nconst (\n\tReasonA = \"A\" // explained\n\tReasonB = \"B\"\n)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := constantsOf(file); err == nil || !strings.Contains(err.Error(), "ReasonB has no comment") {
		t.Errorf("got %v", err)
	}
}
