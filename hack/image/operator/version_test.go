package operator_test

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/hack/image/operator"
)

func TestAVersionIsTheSameWithAndWithoutV(t *testing.T) {
	for named, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2.3": "1.2.3", "v0.1.0-5-g7b11089-dirty": "0.1.0-5-g7b11089-dirty",
		"dev": "dev", "7b11089": "7b11089", "vendor-4": "vendor-4", "v": "v", "": "",
	} {
		if got := operator.Version(named); got != want {
			t.Errorf("%q is version %q, want %q", named, got, want)
		}
	}
}
