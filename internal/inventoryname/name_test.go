package inventoryname_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
)

func TestWhatATextRefersTo(t *testing.T) {
	t.Parallel()
	const none, loose, exact, whole = inventoryname.None, inventoryname.Loose, inventoryname.Exact, inventoryname.Whole
	for _, c := range []struct {
		text, path string
		want       inventoryname.Match
	}{
		// The page's inputs.
		{"v910 10.33.156.0/24", "/DC0/network/v910 10.33.156.0%2f24", exact},
		{"v910 10.33.156.0%2f24", "/DC0/network/v910 10.33.156.0%2f24", exact},
		{"v910 10.33.156.0%2F24", "/DC0/network/v910 10.33.156.0%2f24", loose},
		{"V910 10.33.156.0/24", "/DC0/network/v910 10.33.156.0%2f24", loose},
		{"debian-feature/debug", "/DC0/vm/debian-feature%2fdebug", exact},
		{"vm network", "/DC0/network/VM Network", loose},
		{"Debian-12", "/DC0/vm/debian-12", loose},
		// Paths.
		{"/DC0/vm/a", "/DC0/vm/a", whole},
		{"/dc0/VM/a", "/DC0/vm/a", loose},
		{"vm/a", "/DC0/vm/a", exact},
		{"/vm/a", "/DC0/vm/a", none},
		{"templates/feature/debug", "/DC0/vm/templates/feature%2fdebug", exact},
		{"/DC0/vm/feature/debug", "/DC0/vm/feature%2fdebug", exact},
		{"/DC0/vm/feature%2Fdebug", "/DC0/vm/feature%2fdebug", loose},
		// The end of a name is no name.
		{"24", "/DC0/network/v910 10.33.156.0%2f24", none},
		{"debug", "/DC0/vm/feature%2fdebug", none},
		{"debug", "/DC0/vm/feature/debug", exact},
		{"12", "/DC0/vm/linux-12", none},
		// Other signs.
		{`a\b`, "/DC0/vm/a%5cb", exact},
		{"50%", "/DC0/vm/50%25", exact},
		{"50%25", "/DC0/vm/50%25", exact},
		{"x%2fy", "/DC0/vm/x%252fy", exact},
		{"x/y", "/DC0/vm/x%252fy", none},
		{"ÜBER", "/DC0/vm/über", loose},
		{"", "/DC0/vm/a", none},
		{"/", "/DC0/vm/a", none},
	} {
		if got := inventoryname.Refer(c.text, c.path); got != c.want {
			t.Errorf("%q means %q: %d, want %d", c.text, c.path, got, c.want)
		}
	}
}

func TestWhatIsBelowAFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, folder string
		want         bool
	}{
		{"/DC0/vm/golden/a", "/DC0/vm/golden", true},
		{"/DC0/vm/golden/a", "DC0/vm/Golden/", true},
		{"/DC0/vm/2026%2f01/a", "/DC0/vm/2026/01", true},
		{"/DC0/vm/2026%2f01/a", "/DC0/vm/2026%2F01", true},
		{"/DC0/vm/2026%2f01", "/DC0/vm/2026", false},
		{"/DC0/vm/golden", "/DC0/vm/golden", false},
		{"/DC0/vm/goldener/a", "/DC0/vm/golden", false},
	} {
		if got := inventoryname.Below(c.path, c.folder); got != c.want {
			t.Errorf("%q is below %q: %v", c.path, c.folder, got)
		}
	}
}

// Spellings are what users can write for an object: its name and path, as the API has them and as they are shown, in any case.
func TestEverySpellingOfAnObjectMeansIt(t *testing.T) {
	t.Parallel()
	d := rand.New(rand.NewPCG(42, 2))
	for range 5000 {
		raw := append(make([]string, 0, 4), "DC0", "vm")
		for range 1 + d.IntN(2) {
			raw = append(raw, fmt.Sprintf("a%s%d", []string{"%2f", "%5c", "%25", "", "B", "%252f"}[d.IntN(6)], d.IntN(3)))
		}
		path := "/" + strings.Join(raw, "/")
		text := strings.Join(raw[1+d.IntN(len(raw)-1):], "/")
		if d.IntN(2) == 0 {
			text = inventoryname.Shown(text)
		}
		text = strings.Map(func(r rune) rune {
			if d.IntN(3) == 0 {
				return []rune(strings.ToUpper(string(r)))[0]
			}
			return r
		}, text)
		if inventoryname.Refer(text, path) == inventoryname.None {
			t.Fatalf("%q does not mean %q", text, path)
		}
	}
}
