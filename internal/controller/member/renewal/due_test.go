package renewal

import (
	"fmt"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestATokenIsRenewedAfterAThirdOfItsLifetimeOrADay(t *testing.T) {
	for _, test := range []struct{ lifetime, after time.Duration }{
		{7 * 24 * time.Hour, 24 * time.Hour}, {48 * time.Hour, 16 * time.Hour}, {10 * time.Minute, 200 * time.Second},
	} {
		first, last := 10*test.after, time.Duration(0)
		for i := range 300 {
			token := credential.Account{Issued: noon, Expires: noon.Add(test.lifetime)}
			after := Due(token, 24*time.Hour, fmt.Sprintf("member-%d", i), credential.Member).Sub(noon)
			first, last = min(first, after), max(last, after)
			if again := Due(token, 24*time.Hour, fmt.Sprintf("member-%d", i), credential.Member).Sub(noon); again != after {
				t.Fatalf("one token is due after %s and after %s", after, again)
			}
		}
		if least, most := test.after*9/10, test.after*11/10; first < least || last > most || first > test.after || last < test.after {
			t.Errorf("tokens of %s are renewed after %s to %s, want %s to %s", test.lifetime, first, last, least, most)
		}
	}
}
