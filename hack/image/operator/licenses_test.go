package operator

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// isc is the text of the ISC license, one of the shortest.
const isc = `Copyright (c) 2026 Example Authors

Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted,
provided that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT,
INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF
THIS SOFTWARE.
`

func TestLicensesAreThoseOfTheFiles(t *testing.T) {
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	apache, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"none", map[string]string{"main.go": isc, "see the license": isc}, nil},
		{"one", map[string]string{"LICENSE": isc}, []string{"ISC"}},
		{"British, lower case", map[string]string{"licence.md": isc}, []string{"ISC"}},
		{"two files", map[string]string{"LICENSE": string(apache), "LICENSE-ISC": isc}, []string{"Apache-2.0", "ISC"}},
		{"two in one", map[string]string{"COPYING": isc + "\n" + string(apache)}, []string{"Apache-2.0", "ISC"}},
		{"an address only", map[string]string{"LICENSE": "See https://creativecommons.org/licenses/by/4.0\n"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range test.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := licensesOf(dir)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("licenses %v (%v), want %v", got, err, test.want)
			}
		})
	}
}
