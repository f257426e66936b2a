package massdeletion

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
)

// Rules are the times of a mass deletion.
type Rules struct {
	// Age is the minimum age of a guarded group. A younger group never counts and never waits.
	Age time.Duration
	// Wait is how long a group that is deleted, or wants no VM, keeps its VMs: until every replica has observed the other removals.
	Wait time.Duration
	// Window is how long removed VMs count.
	Window time.Duration
}

// DefaultRules are the default rules of a hub.
func DefaultRules() Rules {
	return Rules{Age: time.Hour, Wait: 10 * time.Second, Window: 10 * time.Minute}
}

const (
	// leastVMs is the number of VMs that can leave under any percentage.
	leastVMs = 10
	// usualPercent is the default percentage of a member.
	usualPercent = 20
)

// Limit is the number of VMs that can leave. The zero value is the default of a member.
type Limit struct {
	set            bool
	least, percent int
}

// LimitOf reads spec.massDeletion.maxVMs. A value that is neither a number nor a percentage is ignored.
func LimitOf(maxVMs *intstr.IntOrString) Limit {
	switch {
	case maxVMs == nil:
	case maxVMs.Type == intstr.Int:
		return Limit{set: true, least: max(0, maxVMs.IntValue())}
	default:
		digits, is := strings.CutSuffix(maxVMs.StrVal, "%")
		if percent, err := strconv.Atoi(digits); is && err == nil && percent >= 0 {
			return Limit{set: true, least: leastVMs, percent: min(percent, 100)}
		}
	}
	return Limit{}
}

func (l Limit) values() (least, percent int) {
	if !l.set {
		return leastVMs, usualPercent
	}
	return l.least, l.percent
}

// Off reports whether any number of VMs can leave.
func (l Limit) Off() bool { return l.set && l.percent >= 100 }

// Exceeded reports whether it exceeds the limit that this number of all VMs leaves.
func (l Limit) Exceeded(leave, all int) bool {
	least, percent := l.values()
	return leave > least && int64(leave)*100 > int64(all)*int64(percent) && !l.Off()
}

// String returns the limit as part of a sentence.
func (l Limit) String() string {
	switch least, percent := l.values(); {
	case l.Off():
		return "all VMs"
	case percent == 0:
		return strconv.Itoa(least) + " VMs"
	default:
		return strconv.Itoa(percent) + "% of the VMs, or " + strconv.Itoa(least) + " if that is more"
	}
}

// AllowCommand returns the command that allows all removals of a member for half an hour.
func AllowCommand(member string) string {
	return allowance.Command("membercluster", member, v1alpha1.AllowMassDeletionAnnotation)
}
