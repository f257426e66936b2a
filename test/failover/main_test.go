//go:build unix

package failover

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// scaleVariable of the environment sets the default of -scale.
const scaleVariable = "FAILOVER_SCALE"

// standardScale is that of `make test`: with less, a renewal that a busy machine holds up for a second costs a replica its groups.
const standardScale = "0.4"

// worldCount is how many stories run side by side, each in a world of its own. They mostly wait.
const worldCount = 2

var (
	scale = flag.Float64("scale", defaultScale(), "multiplies all timings of the sharding protocol")
	seed  = flag.Uint64("seed", 1, "chooses what changes when")
)

func defaultScale() float64 {
	value, err := strconv.ParseFloat(cmp.Or(os.Getenv(scaleVariable), standardScale), 64)
	if err != nil || value <= 0 {
		fmt.Fprintf(os.Stderr, "%s must be a positive number\n", scaleVariable)
		os.Exit(2)
	}
	return value
}

// scaled is a duration of the protocol as it is in this run.
func scaled(seconds float64) time.Duration {
	return time.Duration(seconds * *scale * float64(time.Second))
}

// slack is what a busy machine may add to a bound that is scaled: a replica whose requests time out cannot judge others, and
// begins its patience anew, and may do so twice. At full scale the bounds hold as they are promised.
func slack() time.Duration {
	if *scale >= 1 {
		return 0
	}
	return 2 * scaled(12)
}

// moments is what a busy machine may add to what is done at once. It is less than the patience with a replica that says nothing.
func moments() time.Duration { return min(slack(), scaled(7)) }

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(worldCount)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := stopWorlds(); err != nil {
		fmt.Fprintln(os.Stderr, "clean up:", err)
		code = cmp.Or(code, 1)
	}
	os.Exit(code)
}
