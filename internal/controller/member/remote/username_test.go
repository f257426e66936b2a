package remote

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// TestAUsernameIsNoLongerThanOneIs: it is written into several objects, and the member's API server
// chooses it.
func TestAUsernameIsNoLongerThanOneIs(t *testing.T) {
	longest := "system:serviceaccount:" + strings.Repeat("n", 63) + ":" + strings.Repeat("s", 253)
	for _, test := range []struct {
		username string
		taken    bool
	}{{longest, true}, {strings.Repeat("u", mostUsername), true}, {strings.Repeat("u", mostUsername+1), false}, {strings.Repeat("u", 1<<20), false}, {"", false}} {
		api := answering(t, true, testBounds(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			review := authenticationv1.SelfSubjectReview{}
			review.Status.UserInfo.Username = test.username
			_ = json.NewEncoder(w).Encode(review)
		})
		got, err := api.Username(t.Context())
		if (err == nil) != test.taken || test.taken && got != test.username {
			t.Errorf("a username of %d bytes: %.20q, %v", len(test.username), got, err)
		}
		var said *Problem
		if len(test.username) > mostUsername && (!errors.As(err, &said) || !said.Lasting || said.Reason != v1alpha1.ReasonAdmissionFailed ||
			len(said.Message) > 400 || !strings.Contains(said.Message, "username of more than 512 bytes")) {
			t.Errorf("said was %v", err)
		}
	}
}
