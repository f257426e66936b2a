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
	// Age of a group from which on it is guarded. A younger one never counts and never waits.
	Age time.Duration
	// Wait is for how long a group that is deleted, or wants no VM, keeps them: until every replica has seen what else leaves.
	Wait time.Duration
	// Window is for how long what has left counts.
	Window time.Duration
}

// DefaultRules are those of a hub that says nothing else.
func DefaultRules() Rules {
	return Rules{Age: time.Hour, Wait: 10 * time.Second, Window: 10 * time.Minute}
}

const (
	// leastVMs may leave under any percentage.
	leastVMs = 10
	// usualPercent is that of a member that says nothing else.
	usualPercent = 20
)

// Limit is how many VMs may leave. The zero value is that of a member that says nothing else.
type Limit struct {
	set            bool
	least, percent int
}

// LimitOf reads spec.massDeletion.maxVMs. What is neither a number nor a percentage is read as if it was not there.
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

// Off reports whether any number of VMs may leave.
func (l Limit) Off() bool { return l.set && l.percent >= 100 }

// Exceeded reports whether it is too much that so many of all VMs leave.
func (l Limit) Exceeded(leave, all int) bool {
	least, percent := l.values()
	return leave > least && int64(leave)*100 > int64(all)*int64(percent) && !l.Off()
}

// String says it as part of a sentence.
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

// AllowCommand is what lets all removals of a member pass for half an hour.
func AllowCommand(member string) string {
	return allowance.Command("membercluster", member, v1alpha1.AllowMassDeletionAnnotation)
}
