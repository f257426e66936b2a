package assets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

func TestOnlyThePinnedArchiveIsUnpacked(t *testing.T) {
	var content bytes.Buffer
	zipped := gzip.NewWriter(&content)
	archive := tar.NewWriter(zipped)
	for _, name := range []string{"package/other.js", "package/script.js"} {
		err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(name))})
		if _, writeErr := archive.Write([]byte(name)); err != nil || writeErr != nil {
			t.Fatal(err, writeErr)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	hashed := sha512.Sum512(content.Bytes())
	sum := base64.StdEncoding.EncodeToString(hashed[:])

	if text, err := member(content.Bytes(), sum, "package/script.js"); err != nil || string(text) != "package/script.js" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := member(content.Bytes(), sum, "package/missing.js"); err == nil || !strings.Contains(err.Error(), "package/missing.js") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := member(append(content.Bytes(), 0), sum, "package/script.js"); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("another archive: %v", err)
	}
}
