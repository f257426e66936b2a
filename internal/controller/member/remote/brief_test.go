package remote

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// TestLittleIsKeptOfAnAnswerThatIsAnError: the last error of an informer is kept until it fails again.
func TestLittleIsKeptOfAnAnswerThatIsAnError(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	answered := fmt.Errorf("list: %w", &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired, Message: "too old" + long,
		Details: &metav1.StatusDetails{Name: long, Causes: make([]metav1.StatusCause, 1000)},
	}})
	kept := Brief(answered)
	var status *apierrors.StatusError
	if !errors.As(kept, &status) || !apierrors.IsResourceExpired(kept) || !strings.HasPrefix(kept.Error(), "too old") || untrusted.MemorySize(status) > 2<<10 {
		t.Errorf("%d bytes are kept: %.100s", untrusted.MemorySize(status), kept)
	}
	if kept := Brief(io.ErrUnexpectedEOF); !errors.Is(kept, io.ErrUnexpectedEOF) {
		t.Errorf("kept is %v", kept)
	}
	if Brief(nil) != nil {
		t.Error("nothing became an error")
	}
}
