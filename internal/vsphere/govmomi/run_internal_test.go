package govmomi

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
)

// After a rejected login, the first round of the accepted one can end with a renewed session. No person has to act for that.
func TestARenewedSessionIsNoErrorInTheLog(t *testing.T) {
	for _, c := range []struct {
		err     error
		isError bool
	}{{fmt.Errorf("serve: %w", errRenewed), false}, {errors.New("connection refused"), true}} {
		var said strings.Builder
		s := New(Config{Installation: "hub", Log: funcr.New(func(_, args string) { said.WriteString(args) }, funcr.Options{})})
		s.logOutage(c.err)
		if got := strings.Contains(said.String(), `"error"=`); got != c.isError || !strings.Contains(said.String(), c.err.Error()) {
			t.Errorf("%v is logged as %s", c.err, said.String())
		}
	}
}
