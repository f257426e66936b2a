package trust

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// keyLength of the path key, in bytes.
const keyLength = 32

// DefaultPeriod is how long a member calls by one segment: see [Period].
const DefaultPeriod = 12 * time.Hour

// Period numbers a stretch of time in which members are given the same segment. 0 is the one that never ends, for
// members whose objects somebody else applies (spec.manage None).
type Period int64

// PeriodAt returns the period at a time, if each is so long.
func PeriodAt(now time.Time, long time.Duration) Period { return Period(now.UnixNano() / int64(long)) }

// Segment is the part of a member's webhook path that cannot be guessed without the key: the first 32 hexadecimal digits of
// HMAC-SHA256(key, name + "/" + uid), in other periods than 0 followed by "/" and the period's number. A MemberCluster that is created anew
// under the same name gets another one.
//
// It is no credential: whoever is refused a request because the webhook could not be called is told the whole URL.
func Segment(key []byte, memberName string, uid types.UID, period Period) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(memberName + "/" + string(uid)))
	if period != 0 {
		mac.Write([]byte("/" + strconv.FormatInt(int64(period), 10)))
	}
	return hex.EncodeToString(mac.Sum(nil))[:32]
}

// door is a member and a segment, hashed: looking one up takes the same time whatever is asked for, and whether it is there or not.
type door [sha256.Size]byte

func doorOf(memberName, segment string) door {
	return sha256.Sum256([]byte(memberName + "/" + segment))
}

// acknowledged are the periods of the segments that a member was seen to have, with when it was last seen to.
type acknowledged map[types.UID]map[Period]time.Time

// next is what is remembered after a look at the members: what each has, and what it had until a while ago. Its API servers learn of another segment
// a moment after the first of them took it, and one that was away for long has none that would hold by itself. A replica that starts remembers nothing.
func (a acknowledged) next(members []v1alpha1.MemberCluster, now time.Time, while time.Duration) acknowledged {
	next := make(acknowledged, len(members))
	for i := range members {
		m := &members[i]
		next[m.UID] = maps.Clone(a[m.UID])
		maps.DeleteFunc(next[m.UID], func(_ Period, seen time.Time) bool { return now.Sub(seen) >= while })
		if next[m.UID] == nil {
			next[m.UID] = map[Period]time.Time{}
		}
		if m.Status.CABundleHash != "" { // without webhooks it has no segment, and 0 is not one that it has
			next[m.UID][Period(m.Status.SegmentPeriod)] = now
		}
	}
	return next
}

// doorsOf are all by which members may call now. Old and new ones hold together: the period before and the one after, for what is under way and
// for clocks that differ, and for each member those that it was seen to have, which it may have missed to renew for long.
func doorsOf(key []byte, members []v1alpha1.MemberCluster, had acknowledged, now Period) map[door]struct{} {
	doors := map[door]struct{}{}
	if len(key) == 0 {
		return doors
	}
	for i := range members {
		m := &members[i]
		periods := slices.AppendSeq([]Period{now - 1, now, now + 1}, maps.Keys(had[m.UID]))
		if m.Spec.Manage == v1alpha1.ManageNone {
			periods = append(periods, 0)
		}
		for _, period := range periods {
			doors[doorOf(m.Name, Segment(key, m.Name, m.UID, period))] = struct{}{}
		}
	}
	return doors
}
