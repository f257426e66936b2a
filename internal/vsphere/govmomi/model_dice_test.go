package govmomi

import (
	"hash/fnv"
	"sync"
	"time"
)

// dice are the randomness of one history. Each kind of throw has its own sequence, so that an extra
// throw in one goroutine does not affect another.
type dice struct {
	seed uint64
	mu   sync.Mutex
	rows map[string]uint64
}

func newDice(seed uint64) *dice { return &dice{seed: seed, rows: map[string]uint64{}} }

func (d *dice) next(row string) uint64 {
	d.mu.Lock()
	d.rows[row]++
	n := d.rows[row]
	d.mu.Unlock()
	h := fnv.New64a()
	_, _ = h.Write([]byte(row))
	x := h.Sum64() ^ d.seed*0x9e3779b97f4a7c15 ^ n*0xbf58476d1ce4e5b9
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below returns a number from 0 to n-1.
func (d *dice) below(row string, n int) int { return int(d.next(row) % uint64(n)) }

// percent is true with a probability of p percent.
func (d *dice) percent(row string, p int) bool { return d.below(row, 100) < p }

// within returns a duration of at most limit; short ones are more frequent. All differ, so that no two events coincide.
func (d *dice) within(row string, limit time.Duration) time.Duration {
	x := float64(d.next(row)%1_000_003) / 1_000_003
	return time.Duration(x*x*float64(limit)) + time.Duration(d.below(row, 997))
}
