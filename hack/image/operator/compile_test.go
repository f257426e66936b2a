package operator_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/hack/image/operator"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

func TestCompileSaysWhatItCannotDo(t *testing.T) {
	for _, platform := range []string{"", "amd64", "windows/amd64", "linux/arm/v7"} {
		err := operator.Compile(t.Context(), t.TempDir(), platform, "v1", "manager", os.Stderr)
		if err == nil || !strings.Contains(err.Error(), "is not of the form") {
			t.Errorf("platform %q: error %v", platform, err)
		}
	}
}

func TestSBOMIsOnlyForTheProgramOfTheSources(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	contents := operator.Contents{Root: root, Program: self, Platform: "linux/" + runtime.GOARCH, Digest: "sha256:00"}
	if _, err := operator.SBOM(t.Context(), contents); err == nil || !strings.Contains(err.Error(), "not github.com/codeconnect/vmgroup-operator/cmd/manager") {
		t.Errorf("error %v of another program than the operator", err)
	}
}
