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

// DefaultPeriod is how long a member calls with one segment: see [Period].
const DefaultPeriod = 12 * time.Hour

// Period is the number of a time span in which members are given the same segment. Period 0 never ends; it is for members whose objects another tool
// applies (spec.manage None).
type Period int64

// PeriodAt returns the period at a time, if each has this length.
func PeriodAt(now time.Time, long time.Duration) Period { return Period(now.UnixNano() / int64(long)) }

// Segment is the part of a member's webhook path that cannot be guessed without the key: the first 32 hexadecimal digits of HMAC-SHA256(key, name + "/"
// + uid). In other periods than 0, "/" and the period's number are appended to the message. A MemberCluster that is created anew under the same name
// gets another segment.
//
// Segment is not a credential: if a request is refused because the webhook cannot be called, its user sees the whole URL.
func Segment(key []byte, memberName string, uid types.UID, period Period) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(memberName + "/" + string(uid)))
	if period != 0 {
		mac.Write([]byte("/" + strconv.FormatInt(int64(period), 10)))
	}
	return hex.EncodeToString(mac.Sum(nil))[:32]
}

// door is the hash of a member and a segment: a lookup takes the same time for every value, present or not.
type door [sha256.Size]byte

func doorOf(memberName, segment string) door {
	return sha256.Sum256([]byte(memberName + "/" + segment))
}

// acknowledged has the periods of the segments that a member was seen to have, with the time when each was last seen.
type acknowledged map[types.UID]map[Period]time.Time

// next returns the record after a read of the members: the segment that each has, and those that it had until recently. A member's API servers learn a
// new segment a moment after the first of them took it. A member that was unreachable for long can lack a segment that is still current. A replica that
// starts has no record.
func (a acknowledged) next(members []v1alpha1.MemberCluster, now time.Time, while time.Duration) acknowledged {
	next := make(acknowledged, len(members))
	for i := range members {
		m := &members[i]
		next[m.UID] = maps.Clone(a[m.UID])
		maps.DeleteFunc(next[m.UID], func(_ Period, seen time.Time) bool { return now.Sub(seen) >= while })
		if next[m.UID] == nil {
			next[m.UID] = map[Period]time.Time{}
		}
		if m.Status.CABundleHash != "" { // without webhooks, it has no segment, and 0 is not its period
			next[m.UID][Period(m.Status.SegmentPeriod)] = now
		}
	}
	return next
}

// doorsOf returns all segments that members can call with now. Old and new ones are valid together. The previous and the next period cover requests in
// progress and clock differences. All segments that a member was seen to have cover a failed renewal.
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
