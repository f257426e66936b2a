package logins

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/delay"
)

const (
	// look is the pause between checks of another session's login in progress.
	look = 200 * time.Millisecond
	// keySize is the key size of HMAC-SHA256.
	keySize = 32
	// mostAccounts is the maximum number of remembered accounts.
	mostAccounts = 256
	// endTries is the maximum number of tries to store a result.
	endTries = 5
	// alone is the number of rejections that an account can have per replica within the window, if the replicas have no common memory.
	alone = 1
)

// Options of a Keeper.
type Options struct {
	// Store is shared by all replicas.
	Store Store
	// Boot is unique to this process.
	Boot string
	// Boots reports which processes have ended. Nil reports none.
	Boots Boots
	Now   func() time.Time
}

// Keeper is one process's memory of logins, and its part in the common memory. It is safe for concurrent use.
type Keeper struct {
	o     Options
	local Memory

	mu sync.Mutex
	// key and known are the last seen content, because a user can remove or restore the stored one.
	key   []byte
	known map[string]Account
	// open are the tries of this process.
	open map[*Try]struct{}
}

// New returns a Keeper.
func New(o Options) *Keeper {
	return &Keeper{o: o, known: map[string]Account{}, open: map[*Try]struct{}{}}
}

// Gate decides about the logins with one user name and password at one server.
type Gate struct {
	keeper  *Keeper
	account string
	pair    []byte
	// once refuses a pair that vCenter has rejected before.
	once bool
}

// Once returns a gate for a program that a user starts. It leaves a user name and password that vCenter rejected before to the operator,
// which knows the time of the retry.
func (g *Gate) Once() *Gate {
	other := *g
	other.once = true
	return &other
}

// Gate returns the gate of a user name and password. Another attempt makes them count as new ones.
func (k *Keeper) Gate(server, username, password, attempt string) *Gate {
	account := accountOf(server, username)
	return &Gate{keeper: k, account: account, pair: []byte(strings.Join([]string{account, username, password, attempt}, "\x00"))}
}

// accountOf names an account independent of its spelling: VSPHERE.LOCAL\op is op@vsphere.local, and port 443 is that of https.
func accountOf(server, username string) string {
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	host := server
	if u, err := url.Parse(server); err == nil {
		host = strings.TrimSuffix(u.Hostname(), ".")
		if port := cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme]); port != "443" {
			host += ":" + port
		}
	}
	if domain, name, found := strings.Cut(username, `\`); found {
		username = name + "@" + domain
	}
	return strings.ToLower(host + " " + username)
}

// Try is a permitted login. It must be ended.
type Try struct {
	gate  *Gate
	claim Claim
	room  int
}

// Enter waits until a login can be sent, or returns the reason why it cannot: *Refused, or an error of the store.
func (g *Gate) Enter(ctx context.Context) (*Try, error) {
	k := g.keeper
	for {
		book, store, room, err := k.load(ctx)
		if err != nil {
			return nil, err
		}
		now := k.o.Now()
		a, pair := k.account(book, g.account, now), g.id(book.Key)
		do, next := decide(a, pair, now, room)
		try := &Try{gate: g, claim: Claim{Pair: pair, By: k.o.Boot, At: now}, room: room}
		if g.once && do == claim && a.pair(pair).Rejections > 0 {
			refused := refusal(a, pair, now)
			refused.Once = true
			return nil, refused
		}
		switch do {
		case follow:
			return try, nil
		case hold:
			return nil, refusal(a, pair, next)
		case claim:
			k.began(try)
			a.Claim = &try.claim
			err := store.Save(ctx, book.with(g.account, a))
			if err == nil {
				return try, nil
			}
			k.ended(try)
			if !errors.Is(err, ErrConflict) {
				return nil, err
			}
		case wait:
		}
		if err := delay.For(ctx, look); err != nil {
			return nil, fmt.Errorf("another session of this account is logging in: %w", err)
		}
	}
}

// End stores the result of a login. For a rejected one it returns *Refused. If the result cannot be stored, it still counts in this process.
func (t *Try) End(ctx context.Context, o Outcome) error {
	g, k, now := t.gate, t.gate.keeper, t.gate.keeper.o.Now()
	defer k.ended(t)
	var a Account
	for range endTries {
		book, store, _, err := k.load(ctx)
		if err != nil {
			k.mu.Lock()
			a = k.known[g.account].ended(t.claim, o, now)
			k.mu.Unlock()
			break
		}
		before := k.account(book, g.account, now)
		a = before.ended(t.claim, o, now)
		if before.Claim == nil && (o == Failed || o == Accepted && before.pair(t.claim.Pair).proven()) {
			return nil // it followed another login, and nothing is new
		}
		if err := store.Save(ctx, book.with(g.account, a)); !errors.Is(err, ErrConflict) {
			break
		}
		if delay.For(ctx, look/10) != nil {
			break
		}
	}
	k.mu.Lock()
	k.known[g.account] = a
	k.mu.Unlock()
	if o != Rejected {
		return nil
	}
	_, next := decide(a, t.claim.Pair, now, t.room)
	return refusal(a, t.claim.Pair, next)
}

// load returns the book with a key, and its store. Without a common store, that is the store of this process, where an account has less room.
func (k *Keeper) load(ctx context.Context) (Book, Store, int, error) {
	store, room := k.o.Store, most
	book, err := store.Load(ctx)
	if errors.Is(err, ErrNoStore) {
		store, room = &k.local, alone
		book, err = store.Load(ctx)
	}
	if err != nil {
		return book, nil, 0, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(book.Key) != keySize {
		if k.key == nil {
			k.key = make([]byte, keySize)
			_, _ = rand.Read(k.key)
		}
		book.Key = slices.Clone(k.key)
	}
	k.key = book.Key
	return book, store, room, nil
}

// account returns an account as known to the book and to this process.
func (k *Keeper) account(book Book, name string, now time.Time) Account {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := book.Accounts[name]
	dead := false
	if c := a.Claim; c != nil && c.By == k.o.Boot {
		if !k.has(*c) {
			a.Claim = nil // the write succeeded without our knowledge, and nothing was sent
		}
	} else if c != nil {
		dead = k.o.Boots != nil && k.o.Boots.BootDead(c.By)
	}
	a = a.merge(k.known[name]).settled(now, dead)
	remembered := a
	remembered.Claim = nil
	k.known[name] = remembered
	return a
}

func (k *Keeper) has(c Claim) bool {
	for try := range k.open {
		if try.claim.same(c) {
			return true
		}
	}
	return false
}

func (k *Keeper) began(t *Try) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open[t] = struct{}{}
}

func (k *Keeper) ended(t *Try) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.open, t)
}

// id returns the HMAC of the pair. Without the key, the password cannot be found by trying.
func (g *Gate) id(key []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(g.pair)
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// with returns the book with an account. If there are too many accounts, it drops those with the oldest last login.
func (b Book) with(name string, a Account) Book {
	b.Accounts = maps.Clone(b.Accounts)
	if b.Accounts == nil {
		b.Accounts = map[string]Account{}
	}
	b.Accounts[name] = a
	if over := len(b.Accounts) - mostAccounts; over > 0 {
		names := slices.SortedFunc(maps.Keys(b.Accounts), func(x, y string) int {
			return cmp.Or(b.Accounts[x].newest().Compare(b.Accounts[y].newest()), cmp.Compare(x, y))
		})
		for _, old := range names[:over] {
			if old != name {
				delete(b.Accounts, old)
			}
		}
	}
	return b
}

// newest returns the time of the last result, or of the claim.
func (a Account) newest() (last time.Time) {
	if a.Claim != nil {
		last = a.Claim.At
	}
	for _, p := range a.Pairs {
		if p.newest().After(last) {
			last = p.newest()
		}
	}
	return last
}
