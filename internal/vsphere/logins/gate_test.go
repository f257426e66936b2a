package logins

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/delay"
)

// vcenter is an account with a password, and records its rejections.
type vcenter struct {
	mu       sync.Mutex
	password string
	rejected []time.Time
	logins   int
}

func (v *vcenter) login(password string) Outcome {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.logins++
	if password == v.password {
		return Accepted
	}
	v.rejected = append(v.rejected, time.Now())
	return Rejected
}

func (v *vcenter) set(password string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.password = password
}

// worst returns the maximum number of rejections within a time.
func (v *vcenter) worst(within time.Duration) (n int) {
	for i := range v.rejected {
		for j := i; j < len(v.rejected) && v.rejected[j].Sub(v.rejected[i]) < within; j++ {
			n = max(n, j-i+1)
		}
	}
	return n
}

// slowStore delays each request, and sometimes fails.
type slowStore struct {
	Memory
	dice *rand.Rand
	mu   sync.Mutex
}

func (s *slowStore) rest() error {
	s.mu.Lock()
	d, fails := time.Duration(s.dice.Int64N(int64(50*time.Millisecond))), s.dice.IntN(50) == 0
	s.mu.Unlock()
	<-time.After(d)
	if fails {
		return errors.New("the hub does not answer")
	}
	return nil
}

func (s *slowStore) Load(ctx context.Context) (Book, error) {
	if err := s.rest(); err != nil {
		return Book{}, err
	}
	return s.Memory.Load(ctx)
}

func (s *slowStore) Save(ctx context.Context, b Book) error {
	before := s.rest()
	err := s.Memory.Save(ctx, b)
	if err == nil {
		return before // the write succeeded, and the response was lost
	}
	return err
}

// TestNoScheduleOfPasswordsAndDeathsCausesFiveRejectionsInAQuarterOfAnHour: replicas log in, are killed in the middle of a login, and passwords change at both ends.
func TestNoScheduleOfPasswordsAndDeathsCausesFiveRejectionsInAQuarterOfAnHour(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 1))
			store := &slowStore{dice: rand.New(rand.NewPCG(seed, 2))}
			v := &vcenter{password: "0"}
			var mu sync.Mutex
			secret := "0"
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
			defer cancel()
			var all sync.WaitGroup
			for replica := range 3 {
				own := rand.New(rand.NewPCG(seed, uint64(10+replica)))
				all.Go(func() {
					for life := 0; ctx.Err() == nil; life++ {
						k := New(Options{Store: store, Boot: fmt.Sprint(replica, ".", life), Now: time.Now})
						for range 1 + own.IntN(40) {
							mu.Lock()
							password := secret
							mu.Unlock()
							try, err := k.Gate("vc", "op", password, "").Enter(ctx)
							if err == nil {
								<-time.After(time.Duration(own.Int64N(int64(2 * time.Second))))
								outcome := v.login(password)
								if own.IntN(20) == 0 {
									break // killed
								}
								_ = try.End(context.WithoutCancel(ctx), outcome)
							}
							_ = delay.For(ctx, time.Duration(own.Int64N(int64(time.Minute))))
						}
					}
				})
			}
			for n := 1; ctx.Err() == nil; n++ {
				_ = delay.For(ctx, time.Duration(dice.Int64N(int64(10*time.Minute))))
				next := fmt.Sprint(n)
				if dice.IntN(2) == 0 {
					v.set(next)
					_ = delay.For(ctx, time.Duration(dice.Int64N(int64(5*time.Minute))))
				}
				mu.Lock()
				secret = next
				mu.Unlock()
			}
			all.Wait()
			// A process that is killed after the rejection of a password that worked before takes
			// that knowledge with it.
			if n := v.worst(window); n > most+1 || v.logins == 0 {
				t.Errorf("seed %d: %d rejections within %s, %d logins", seed, n, window, v.logins)
			}
		})
	}
}

func TestReplicasThatStartTogetherTryAWrongPasswordOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &Memory{}
		v := &vcenter{password: "right"}
		try := func(password string) (entered int) {
			var all sync.WaitGroup
			var mu sync.Mutex
			for replica := range 9 {
				all.Go(func() {
					k := New(Options{Store: store, Boot: fmt.Sprint(password, replica), Now: time.Now})
					try, err := k.Gate("vc", "op", password, "").Enter(t.Context())
					if err != nil {
						return
					}
					<-time.After(time.Second)
					_ = try.End(t.Context(), v.login(password))
					mu.Lock()
					defer mu.Unlock()
					entered++
				})
			}
			all.Wait()
			return entered
		}
		began := time.Now()
		if n := try("wrong"); n != 1 {
			t.Errorf("%d of 9 tried a wrong password", n)
		}
		if n := try("right"); n != 9 || time.Since(began) > 5*time.Second {
			t.Errorf("%d of 9 logged in with the right one, after %s", n, time.Since(began))
		}
	})
}

// boots reports for every other process whether it is dead.
type boots bool

func (b boots) BootDead(string) bool { return bool(b) }

func TestTheClaimOfADeadProcessHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &Memory{}
		first := New(Options{Store: store, Boot: "first", Now: time.Now})
		_, err := first.Gate("vc", "op", "p", "").Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, dead := range []bool{true, false} { // neither process ends its login
			began, want := time.Now(), map[bool]time.Duration{true: 0, false: claimed}[dead]
			k := New(Options{Store: store, Boot: fmt.Sprint(dead), Boots: boots(dead), Now: time.Now})
			_, err := k.Gate("vc", "op", "p", "").Enter(t.Context())
			if took := time.Since(began); err != nil || took < want-time.Second || took > want+time.Second {
				t.Errorf("known to be dead: %t: entered after %s, %v", dead, took, err)
			}
		}
	})
}

func TestAnAccountIsKnownInEverySpelling(t *testing.T) {
	same := accountOf("https://VC.example.com/sdk", `VSPHERE.LOCAL\Op`)
	for _, other := range [][2]string{
		{"https://vc.example.com:443", "op@vsphere.local"}, {"vc.example.com.", "OP@VSPHERE.LOCAL"},
	} {
		if got := accountOf(other[0], other[1]); got != same {
			t.Errorf("%v is %q, not %q", other, got, same)
		}
	}
	if accountOf("https://vc:8443", "op") == accountOf("https://vc", "op") {
		t.Error("two servers of one host are one")
	}
}

func TestAProcessRemembersARejectionThatIsGoneFromTheStore(t *testing.T) {
	for name, keepKey := range map[string]bool{"wiped": false, "an account less": true} {
		t.Run(name, func(t *testing.T) {
			store := &Memory{}
			k := New(Options{Store: store, Boot: "boot", Now: func() time.Time { return start }})
			gate := k.Gate("vc", "op", "p", "")
			try, err := gate.Enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_ = try.End(t.Context(), Rejected)
			stored, err := store.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if stored.Accounts = nil; !keepKey {
				stored.Key = nil
			}
			if err := store.Save(t.Context(), stored); err != nil {
				t.Fatal(err)
			}
			var refused *Refused
			if _, err := gate.Enter(t.Context()); !errors.As(err, &refused) || refused.Rejections != 1 {
				t.Errorf("tried again: %v", err)
			}
		})
	}
}

func TestAGateForOneTryLeavesARejectedPasswordToTheOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(Memory)
		gate := func(boot, password string) *Gate {
			return New(Options{Store: store, Boot: boot, Now: time.Now}).Gate("vc", "op", password, "")
		}
		try := func(g *Gate, o Outcome) error {
			t.Helper()
			sent, err := g.Enter(t.Context())
			if err != nil {
				return err
			}
			_ = sent.End(t.Context(), o)
			return nil
		}
		if err := try(gate("check", "wrong").Once(), Rejected); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		var refused *Refused
		if err := try(gate("check again", "wrong").Once(), Rejected); !errors.As(err, &refused) || !refused.Once || refused.Rejections != 1 {
			t.Errorf("an hour later: %v", err)
		}
		// The operator can log in, and once vCenter accepts the login, so can a check.
		if err := try(gate("operator", "wrong"), Accepted); err != nil {
			t.Error(err)
		}
		<-time.After(time.Hour)
		if err := try(gate("check once more", "wrong").Once(), Accepted); err != nil {
			t.Errorf("after it was accepted: %v", err)
		}
	})
}
