package group

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// UserDataDenial returns the denial of a user data Secret that a member does not allow.
func UserDataDenial(member string) policy.Denial {
	return policy.Denial{
		Field:   "spec.userDataSecretRef",
		Message: fmt.Sprintf("MemberCluster %q does not allow user data Secrets; remove it, or ask a hub administrator to set userDataSecrets: Allow", member),
	}
}

// unwatched reports whether the group waits for a change that no event reports.
func (s *Snapshot) unwatched() bool {
	return s.Observation.FolderElsewhere || len(s.Observation.Elsewhere)+len(s.Observation.Others) > 0 || s.Quota != nil && s.Quota.Unwatched ||
		!s.UserDataDenied && s.lacksSecret()
}

// lacksSecret reports whether user data was read and is missing.
func (s *Snapshot) lacksSecret() bool {
	for _, answer := range s.UserData {
		if answer.Blocked != nil {
			return true
		}
	}
	return false
}
