package group

import (
	"strings"
	"testing"
)

func TestANameOfTheOriginalOperatorIsOfOneGroup(t *testing.T) {
	for name, group := range map[string]string{
		"web-replica-abcdefgh":                        "web",
		"b-x-replica-abcdefgh":                        "b-x",
		"a.b-replica-zzzzzzzz":                        "a.b",
		"web-replica-abcdefgh-replica-abcdefgh":       "web-replica-abcdefgh",
		"web-replica--replica-abcdefgh":               "web-replica-",
		strings.Repeat("w", 63) + "-replica-abcdefgh": strings.Repeat("w", 63),
		"web-replica-abcdefg":                         "",
		"web-replica-abcdefghi":                       "",
		"web-replica-abcdefg0":                        "",
		"web-replica-abcdefgH":                        "",
		"WEB-replica-abcdefgh":                        "WEB",
		"web-Replica-abcdefgh":                        "",
		"web-replica-abcdef\u00e4":                    "",
		"web-replica-abcd-fgh":                        "",
		"web-replica-abcdefgh ":                       "",
		" web-replica-abcdefgh":                       " web",
		"web%2freplica-abcdefgh":                      "",
		"web-0":                                       "",
		"web":                                         "",
		"":                                            "",
		"-replica-abcdefgh":                           "",
	} {
		for _, is := range []string{"web", "x", "b-x", "a.b", "replica", "web-replica", "web-replica-", "web-replica-abcdefgh", strings.Repeat("w", 63), strings.Repeat("w", 62)} {
			if got, want := legacyName(is, name), is == group; got != want {
				t.Errorf("%q is a name of group %q: %t", name, is, got)
			}
		}
	}
}
