//go:build unix

package failover

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

var seed = flag.Uint64("seed", 1, "chooses what changes when")

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	code := m.Run()
	if err := theWorld.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "clean up:", err)
		code = cmp.Or(code, 1)
	}
	os.Exit(code)
}
