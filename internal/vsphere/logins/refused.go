package logins

import (
	"fmt"
	"time"
)

// Refused is the reason why a login is not tried: vCenter rejected earlier ones.
type Refused struct {
	// Rejections of this user name and password, with the times of the first and last one. Zero if others were rejected.
	Rejections  int
	First, Last time.Time
	// OfAccount is the number of the account's rejections within the window.
	OfAccount int
	// Next is the time of the next try, or zero for never.
	Next time.Time
	// Once is true for a gate that never retries a rejected pair.
	Once bool
}

const mayBeLocked = "The account may be locked: if user name and password are right, unlock it in vCenter"

// Error describes the number and start of the rejections, and the time of the next try.
func (e *Refused) Error() string {
	switch {
	case e.Once && e.Rejections > 0:
		return fmt.Sprintf("vCenter rejected this user name and password %s since %s, and only the operator tries them again. Correct the Secret. %s",
			times(e.Rejections, "time"), stamp(e.First), mayBeLocked)
	case e.Rejections == 0:
		return fmt.Sprintf("vCenter rejected %s of this account within %d minutes. So that the account is not locked, this user name and password are tried at %s, not before",
			times(e.OfAccount, "login"), int(window.Minutes()), stamp(e.Next))
	case e.Next.IsZero():
		return fmt.Sprintf("vCenter rejected this user name and password %s since %s, and they are not tried again. Correct the Secret. %s, and set key %s of the Secret to another value",
			times(e.Rejections, "time"), stamp(e.First), mayBeLocked, AttemptKey)
	default:
		return fmt.Sprintf("vCenter rejected this user name and password %s since %s; the next try is at %s. %s. %s",
			times(e.Rejections, "time"), stamp(e.First), stamp(e.Next), e.advice(), mayBeLocked)
	}
}

// advice returns the action while another try is pending.
func (e *Refused) advice() string {
	if e.Rejections == 1 {
		return "If vCenter has just started, wait: it rejects every login until its token service runs. Otherwise correct the Secret"
	}
	return "Correct the Secret. If it is right, set key " + AttemptKey + " of the Secret to another value to have it tried at once"
}

// AttemptKey of a Secret has any value. Another value makes the same user name and password count as new ones, for a user who has unlocked the account.
const AttemptKey = "attempt"

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func times(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func refusal(a Account, pair string, next time.Time) *Refused {
	p := a.pair(pair)
	return &Refused{Rejections: p.Rejections, First: p.First, Last: p.Last, OfAccount: len(a.Rejected), Next: next}
}
