package group

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// UserDataInterval is how often it is looked whether somebody has marked a user data Secret.
const UserDataInterval = 5 * time.Minute

// UserDataDenial is what a member says to a user data Secret that it does not allow.
func UserDataDenial(member string) policy.Denial {
	return policy.Denial{
		Field:   "spec.userDataSecretRef",
		Message: fmt.Sprintf("MemberCluster %q does not allow user data Secrets; remove it, or ask the platform team to set userDataSecrets: Allow", member),
	}
}

// unwatched reports whether the group waits for something that no event tells of.
func (s *Snapshot) unwatched() bool {
	return s.Observation.FolderElsewhere || len(s.Observation.Elsewhere)+len(s.Observation.Others) > 0 || s.Quota != nil && s.Quota.Unwatched ||
		!s.UserDataDenied && s.lacksSecret()
}

// lacksSecret reports whether user data was read and is not there.
func (s *Snapshot) lacksSecret() bool {
	for _, answer := range s.UserData {
		if answer.Blocked != nil {
			return true
		}
	}
	return false
}

// looksAtUserData reports whether it is time to look at the Secret of spec. It is looked at once in the life of a process, and now and then while it
// is not marked: a group whose VMs are all there would else hear of it when it needs a clone, and then gets none.
func (s *Snapshot) looksAtUserData() bool {
	ref := s.Group.Spec.UserDataSecretRef
	return s.UserDataDue && ref != nil && !s.UserDataDenied && !s.deleting() && s.UserData[ref.Name] == nil
}

// userDataMark is what is known of the Secret of spec, or nil.
func (s *Snapshot) userDataMark() *UserDataMark {
	if ref, mark := s.Group.Spec.UserDataSecretRef, s.UserDataMark; ref != nil && mark != nil && mark.Secret == ref.Name {
		return mark
	}
	return nil
}

// unmarkedUserData is what is known of the Secret of spec if that does not say that it is user data, or must not be any; else nil.
func (s *Snapshot) unmarkedUserData() *UserDataMark {
	if mark := s.userDataMark(); mark != nil && (!mark.Marked || mark.Refused != "") {
		return mark
	}
	return nil
}

// knowsUserData reports whether it is known of the Secret of spec, or of none, that it is marked or not.
func (s *Snapshot) knowsUserData() bool {
	return s.Group.Spec.UserDataSecretRef == nil || s.UserDataDenied || s.userDataMark() != nil
}

// RefusedUserData says that no VM gets anything of a Secret because of its type, and what to do.
func RefusedUserData(secret, of string) string {
	return fmt.Sprintf("Secret %q of spec.userDataSecretRef is of type %s: it is made for something else, and no VM is cloned with it. "+
		"Put key userdata into a Secret of its own, of type %s, and name that one", secret, of, v1alpha1.UserDataType)
}

// setUserData tells of a user data Secret that is not marked, or that no VM gets. What is not known stays as it was told.
func setUserData(s *v1alpha1.VmGroupStatus, f Facts, set func(string, metav1.ConditionStatus, string, string)) {
	switch mark := f.UnmarkedUserData; {
	case mark != nil && mark.Refused != "":
		set(v1alpha1.ConditionUnmarkedUserData, metav1.ConditionTrue, v1alpha1.ReasonUserDataTypeRefused, RefusedUserData(mark.Secret, mark.Refused))
	case mark != nil:
		set(v1alpha1.ConditionUnmarkedUserData, metav1.ConditionTrue, v1alpha1.ReasonUserDataNotMarked, fmt.Sprintf(
			"Secret %q of spec.userDataSecretRef does not say that it is user data, and who may read VMs in vCenter reads it. The next version of the operator clones no VM with it. If it is "+
				"meant for that: kubectl label secret %s -n %s %s=true", mark.Secret, mark.Secret, f.Namespace, v1alpha1.UserDataLabel))
	case f.UserDataKnown:
		drop(s, v1alpha1.ConditionUnmarkedUserData)
	}
}
