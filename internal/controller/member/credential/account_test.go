package credential

import (
	"strings"
	"testing"
	"time"
)

func TestAccountOfAToken(t *testing.T) {
	valid := token(`{"sub":"system:serviceaccount:ns:sa","iat":1772362800,"exp":1772366400}`)
	if got, ok := AccountOf(valid); !ok || got != (Account{"ns", "sa", noon.Add(-time.Hour), noon}) {
		t.Errorf("got %+v, %t", got, ok)
	}
	for story, token := range map[string]string{
		"no token":                       "opaque",
		"a user":                         token(`{"sub":"alice","iat":1,"exp":2}`),
		"no name":                        token(`{"sub":"system:serviceaccount:ns:","iat":1,"exp":2}`),
		"no namespace":                   token(`{"sub":"system:serviceaccount::sa","iat":1,"exp":2}`),
		"one part too many":              token(`{"sub":"system:serviceaccount:ns:sa:x","iat":1,"exp":2}`),
		"no expiry":                      token(`{"sub":"system:serviceaccount:ns:sa","iat":1}`),
		"no time of issue":               token(`{"sub":"system:serviceaccount:ns:sa","exp":2}`),
		"an expiry before the issue":     token(`{"sub":"system:serviceaccount:ns:sa","iat":2,"exp":2}`),
		"a line break":                   valid + "\r\nHost: other",
		"a token that fills the Secrets": valid + strings.Repeat("A", 8<<10),
	} {
		t.Run(story, func(t *testing.T) {
			if got, ok := AccountOf(token); ok {
				t.Errorf("it is %+v", got)
			}
		})
	}
}

func TestTheTokenThatWasIssuedLastIsUsed(t *testing.T) {
	older := token(`{"sub":"system:serviceaccount:ns:sa","iat":100,"exp":9000}`)
	newer := token(`{"sub":"system:serviceaccount:ns:sa","iat":200,"exp":800}`)
	for _, test := range [][3]string{
		{older, newer, newer}, {newer, older, newer}, {newer, "", newer}, {newer, "opaque", newer}, {"opaque", older, older},
	} {
		if got := Newer(test[0], test[1]); got != test[2] {
			t.Errorf("of %q and %q, the newer one is %q", test[0], test[1], got)
		}
	}
}
