package renewal

import (
	"hash/fnv"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
)

// Due returns when the next token is requested: when a third of the lifetime has passed, or after most if that is earlier. A hub that is down for
// more than half of the lifetime still has a valid token. Members differ by up to 10 % in both directions, so that they do not renew together.
func Due(token credential.Account, most time.Duration, member, identity string) time.Time {
	after := min(token.Expires.Sub(token.Issued)/3, most)
	h := fnv.New32a()
	_, _ = h.Write([]byte(member + "/" + identity)) // never fails
	share := time.Duration(h.Sum32() % 2001)        // of 2000
	return token.Issued.Add(after*9/10 + after/5*share/2000)
}
