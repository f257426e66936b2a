package death

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestRecordReplacesWhatIsInTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "termination-log")
	if err := os.WriteFile(file, []byte("something longer than the identity of one run of a process"), 0o600); err != nil {
		t.Fatal(err)
	}
	if written, err := Record(file, boot); !written || err != nil {
		t.Fatalf("written: %v, error %v", written, err)
	}
	if content, err := os.ReadFile(file); string(content) != boot || err != nil {
		t.Errorf("the file holds %q, error %v", content, err)
	}
}

func TestRecordMakesNoFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "termination-log")
	if written, err := Record(file, boot); written || err != nil {
		t.Errorf("written: %v, error %v", written, err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
}

func TestRecordSaysWhatIsInTheWay(t *testing.T) {
	if written, err := Record(t.TempDir(), boot); written || err == nil {
		t.Errorf("a directory was written: %v, error %v", written, err)
	}
}
