package kstatus

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// passing are the reasons of Ready that can pass without a person: the operator retries, or an object can come later.
var passing = []string{
	v1alpha1.ReasonConnecting, v1alpha1.ReasonUnreachable, v1alpha1.ReasonSecretNotFound, v1alpha1.ReasonInUse, v1alpha1.ReasonInventoryIncomplete,
	v1alpha1.ReasonKubeconfigNotFound, v1alpha1.ReasonMemberUnreachable, v1alpha1.ReasonCacheBehind, v1alpha1.ReasonCRDMissing, v1alpha1.ReasonCRDFailed,
}

// notOfReady are the reasons of other conditions, and of Ready=True.
var notOfReady = []string{
	v1alpha1.ReasonPolicyInForce, v1alpha1.ReasonUserManaged, v1alpha1.ReasonCredentialsExpired, v1alpha1.ReasonRenewed, v1alpha1.ReasonRenewalFails, v1alpha1.ReasonCredentialsRevoked, v1alpha1.ReasonConnected, v1alpha1.ReasonEngaged, v1alpha1.ReasonSamePlace, v1alpha1.ReasonDatacenterUnclear,
	v1alpha1.ReasonRootFolderRenamed, v1alpha1.ReasonVMsElsewhere, v1alpha1.ReasonPrivilegesSufficient, v1alpha1.ReasonInventoryComplete,
	v1alpha1.ReasonGroupGone, v1alpha1.ReasonOutsideOfRoot, v1alpha1.ReasonNotLookedEverywhere, v1alpha1.ReasonNotAdopted, v1alpha1.ReasonNoSignOfLife,
	v1alpha1.ReasonPredecessorLives, v1alpha1.ReasonClaimed, v1alpha1.ReasonCRDInstalled, v1alpha1.ReasonRevisionWentBack, v1alpha1.ReasonRemovalsHeld,
	v1alpha1.ReasonAllowanceInvalid, v1alpha1.ReasonAdmissionInstalled, v1alpha1.ReasonAdmissionPending, v1alpha1.ReasonDefaultsPending, v1alpha1.ReasonAdmissionForbidden,
	v1alpha1.ReasonAdmissionFailed, v1alpha1.ReasonAdmissionNotManaged, v1alpha1.ReasonNoWebhook, v1alpha1.ReasonCABundleBehind,
}

// TestEveryReasonOfTheHubsKindsIsJudged: each reason must define whether Helm gives up on it.
func TestEveryReasonOfTheHubsKindsIsJudged(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1alpha1/conditions.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Doc == nil || !strings.HasPrefix(block.Doc.Text(), "Reasons of ") || strings.HasPrefix(block.Doc.Text(), "Reasons of a VmGroup's") {
			continue
		}
		for _, spec := range block.Specs {
			reason, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			count++
			judged := 0
			for _, is := range []bool{Stalls(reason), slices.Contains(passing, reason), slices.Contains(notOfReady, reason)} {
				if is {
					judged++
				}
			}
			if judged != 1 {
				t.Errorf("reason %s is in %d of the lists: stalling, passing and notOfReady", reason, judged)
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d reasons were found", count)
	}
}

// TestHelmGivesUpOnWhatAPersonMustChangeAndWaitsForTheRest asks the library that Helm, Flux and kpt use.
func TestHelmGivesUpOnWhatAPersonMustChangeAndWaitsForTheRest(t *testing.T) {
	for reason := range stalling {
		if got := statusOf(t, 1, ready(metav1.ConditionFalse, reason)); got != status.FailedStatus {
			t.Errorf("%s is %s, want Failed", reason, got)
		}
		if got := statusOf(t, 1, ready(metav1.ConditionUnknown, reason)); got != status.InProgressStatus {
			t.Errorf("%s with Ready=Unknown is %s, want InProgress", reason, got)
		}
		if got := statusOf(t, 0, ready(metav1.ConditionFalse, reason)); got != status.InProgressStatus {
			t.Errorf("%s of an older generation is %s, want InProgress", reason, got)
		}
	}
	for _, reason := range passing {
		if got := statusOf(t, 1, ready(metav1.ConditionFalse, reason)); got != status.InProgressStatus {
			t.Errorf("%s is %s, want InProgress", reason, got)
		}
	}
	if got := statusOf(t, 1, ready(metav1.ConditionTrue, v1alpha1.ReasonConnected)); got != status.CurrentStatus {
		t.Errorf("what is ready is %s, want Current", got)
	}
	if got := statusOf(t, -1); got != status.InProgressStatus {
		t.Errorf("an object without a condition is %s, want InProgress", got)
	}
}

// TestOneOfBothConditionsStandsWhileAnObjectIsNotReady, since the time when it became true.
func TestOneOfBothConditionsStandsWhileAnObjectIsNotReady(t *testing.T) {
	begin := time.Date(2026, 11, 27, 8, 0, 0, 5, time.UTC)
	var conditions []metav1.Condition
	for i, step := range []struct {
		status                metav1.ConditionStatus
		reason, stands, since string
	}{
		{metav1.ConditionUnknown, v1alpha1.ReasonConnecting, v1alpha1.ConditionReconciling, "08:00:00"},
		{metav1.ConditionFalse, v1alpha1.ReasonSecretNotFound, v1alpha1.ConditionReconciling, "08:00:00"},
		{metav1.ConditionFalse, v1alpha1.ReasonInvalidLogin, v1alpha1.ConditionStalled, "08:02:00"},
		{metav1.ConditionFalse, v1alpha1.ReasonCertificateRefused, v1alpha1.ConditionStalled, "08:02:00"},
		{metav1.ConditionFalse, v1alpha1.ReasonUnreachable, v1alpha1.ConditionReconciling, "08:04:00"},
		{metav1.ConditionTrue, v1alpha1.ReasonConnected, "", ""},
		{metav1.ConditionFalse, v1alpha1.ReasonInvalidLogin, v1alpha1.ConditionStalled, "08:06:00"},
	} {
		now := begin.Add(time.Duration(i) * time.Minute)
		is := ready(step.status, step.reason)
		is.Message, is.ObservedGeneration = "message "+step.reason, int64(i)
		meta.SetStatusCondition(&conditions, is)
		Derive(&conditions, now)
		for _, conditionType := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
			c := meta.FindStatusCondition(conditions, conditionType)
			if conditionType != step.stands {
				if c != nil {
					t.Errorf("step %d: %s is there", i, conditionType)
				}
				continue
			}
			if c == nil {
				t.Errorf("step %d: %s is not there", i, conditionType)
				continue
			}
			if c.Status != metav1.ConditionTrue || c.Reason != step.reason || c.Message != is.Message || c.ObservedGeneration != int64(i) ||
				c.LastTransitionTime.UTC().Format(time.TimeOnly) != step.since || c.LastTransitionTime.Nanosecond() != 0 {
				t.Errorf("step %d: %+v, want since %s", i, c, step.since)
			}
		}
	}
	var none []metav1.Condition
	if Derive(&none, begin); len(none) != 0 {
		t.Errorf("without Ready there is %v", none)
	}
}

func ready(is metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionReady, Status: is, Reason: reason, Message: "why"}
}

// statusOf is what kstatus makes of a VCenter of generation 1.
func statusOf(t *testing.T, observed int64, conditions ...metav1.Condition) status.Status {
	t.Helper()
	Derive(&conditions, time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC))
	vc := &v1alpha1.VCenter{Status: v1alpha1.VCenterStatus{Conditions: conditions, ObservedGeneration: observed}}
	vc.APIVersion, vc.Kind, vc.Name, vc.Generation = v1alpha1.GroupVersion.String(), "VCenter", "default", 1
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(vc)
	if err != nil {
		t.Fatal(err)
	}
	if observed == 0 { // which is left out when it is written
		content["status"].(map[string]any)["observedGeneration"] = observed
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}
