package model

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// condition returns a condition of a status, or nil.
func condition(st *v1alpha1.VmGroupStatus, of string) *metav1.Condition {
	for i := range st.Conditions {
		if st.Conditions[i].Type == of {
			return &st.Conditions[i]
		}
	}
	return nil
}

// words checks the messages of each status. While vCenter is unreachable, Reconciling and UpToDate keep their messages.
func (a *audit) words(w *world, was, g *v1alpha1.VmGroup) {
	st := &g.Status
	reported := st.Phase != "" // otherwise only its owner was written since it was wiped
	if n := utf8.RuneCountInString(st.LastMessage); reported && n == 0 || n > 120 {
		a.violated(w, "long-message", "lastMessage has %d characters: %q", n, st.LastMessage)
	}
	if c := condition(st, v1alpha1.ConditionPolicyCompliant); c != nil && g.DeletionTimestamp == nil && strings.Contains(c.Message, "shrunk below the minimum") && !w.below(&g.Spec) {
		a.violated(w, "wrong-words", "no policy has a minimum: %s", c.Message)
	}
	for _, c := range st.Conditions {
		kept := w.vc.away && (c.Type == v1alpha1.ConditionReconciling || c.Type == v1alpha1.ConditionUpToDate) && said(&was.Status, c)
		if strings.Contains(c.Message, "quotas let in") && !w.ledger.limited() && !w.ledger.unread && !kept {
			a.violated(w, "quota-words", "there is no quota: %s=%s/%s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
		if i := strings.Index(c.Message, " Until then"); i > 0 && !strings.ContainsRune(".;:,", rune(c.Message[i-1])) {
			a.violated(w, "punctuation", "%s", c.Message)
		}
	}
}

// said reports whether a status has a condition with the same words.
func said(st *v1alpha1.VmGroupStatus, c metav1.Condition) bool {
	old := condition(st, c.Type)
	return old != nil && old.Status == c.Status && old.Reason == c.Reason && old.Message == c.Message
}

// text formats a VM of a status without unset fields.
func text(vm v1alpha1.VMStatus) string {
	out, err := json.Marshal(vm)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// difference describes the differences between two statuses.
func difference(was, is *v1alpha1.VmGroupStatus) string {
	var all []string
	for _, c := range is.Conditions {
		old := condition(was, c.Type)
		switch {
		case old == nil:
			all = append(all, fmt.Sprintf("new %s=%s/%s: %s", c.Type, c.Status, c.Reason, c.Message))
		case old.Status != c.Status || old.Reason != c.Reason || old.Message != c.Message:
			all = append(all, fmt.Sprintf("%s from %s/%s: %q to %s/%s: %q", c.Type, old.Status, old.Reason, old.Message, c.Status, c.Reason, c.Message))
		case !equality.Semantic.DeepEqual(*old, c):
			all = append(all, fmt.Sprintf("%s from %+v to %+v", c.Type, *old, c))
		}
	}
	for _, c := range was.Conditions {
		if condition(is, c.Type) == nil {
			all = append(all, fmt.Sprintf("no %s any more (%s)", c.Type, c.Message))
		}
	}
	for _, vm := range is.VMs {
		for _, old := range was.VMs {
			if old.Ordinal == vm.Ordinal && !equality.Semantic.DeepEqual(old, vm) {
				all = append(all, fmt.Sprintf("%s from %s to %s", vm.Name, text(old), text(vm)))
			}
		}
	}
	if len(was.VMs) != len(is.VMs) {
		all = append(all, fmt.Sprintf("%d VMs to %d", len(was.VMs), len(is.VMs)))
	}
	if was.LastMessage != is.LastMessage {
		all = append(all, fmt.Sprintf("message from %q to %q", was.LastMessage, is.LastMessage))
	}
	if !equality.Semantic.DeepEqual(was.Rollout, is.Rollout) {
		all = append(all, fmt.Sprintf("rollout from %+v to %+v", was.Rollout, is.Rollout))
	}
	if !equality.Semantic.DeepEqual(was.Deleting, is.Deleting) {
		all = append(all, fmt.Sprintf("deleting from %v to %v", was.Deleting, is.Deleting))
	}
	if !equality.Semantic.DeepEqual(was.Admitted, is.Admitted) {
		all = append(all, fmt.Sprintf("admitted from %+v to %+v", was.Admitted, is.Admitted))
	}
	return strings.Join(all, "; ")
}
