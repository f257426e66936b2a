package ring

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestBucketsNeverChange pins the function that HashName names. The numbers come from another implementation of
// xxhash64. If this test fails, change the name: two replicas with different functions would act on one object.
func TestBucketsNeverChange(t *testing.T) {
	const uid = "7f9c1e0a-52b4-4b8e-9f0e-0d5a3c1b2e4f"
	for _, c := range []struct {
		uid, namespace, name string
		of128, of1024        int
	}{
		{uid, "default", "web", 40, 808},
		{uid, "team-a", "db", 119, 887},
		{"u", "a", "bc", 117, 629},
		{"u", "ab", "c", 3, 515},
		{"", "", "", 1, 257},
	} {
		if got := Bucket(c.uid, c.namespace, c.name, 128); got != c.of128 {
			t.Errorf("%q/%q/%q is in bucket %d of 128, want %d", c.uid, c.namespace, c.name, got, c.of128)
		}
		if got := Bucket(c.uid, c.namespace, c.name, 1024); got != c.of1024 {
			t.Errorf("%q/%q/%q is in bucket %d of 1024, want %d", c.uid, c.namespace, c.name, got, c.of1024)
		}
	}
	if HashName != "xxhash64/1" {
		t.Errorf("the function is called %q, but it is still the first one", HashName)
	}
}

func TestBucketsAreInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		buckets := rapid.IntRange(1, 2000).Draw(t, "buckets")
		part := rapid.StringN(0, 300, 600)
		b := Bucket(part.Draw(t, "uid"), part.Draw(t, "namespace"), part.Draw(t, "name"), buckets)
		if b < 0 || b >= buckets {
			t.Fatalf("bucket %d of %d", b, buckets)
		}
	})
}

// TestPartsOfAnObjectAreNotJoined: the same letters, split differently, are another object.
func TestPartsOfAnObjectAreNotJoined(t *testing.T) {
	const letters, many = "abcdefghij", 1 << 40
	seen := map[int]string{}
	for i := range len(letters) + 1 {
		for j := i; j <= len(letters); j++ {
			parts := []string{letters[:i], letters[i:j], letters[j:]}
			b := Bucket(parts[0], parts[1], parts[2], many)
			if other, found := seen[b]; found {
				t.Errorf("%q and %q have the same hash", other, parts)
			}
			seen[b] = fmt.Sprint(parts)
		}
	}
}

func TestBucketsOfObjectsAllocateNothing(t *testing.T) {
	uid, namespace, name := strings.Repeat("u", 36), strings.Repeat("n", 63), strings.Repeat("o", 63)
	if n := testing.AllocsPerRun(100, func() { Bucket(uid, namespace, name, 128) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestGroupsAreSpreadEvenly: a fleet of 1,000 groups in several clusters and namespaces, with random UIDs and typical
// names. Even with a good hash, a few fleets in a hundred are less even. The test draws many, and nine in ten must be
// even.
func TestGroupsAreSpreadEvenly(t *testing.T) {
	const fleets, groups, buckets = 101, 1000, 128
	for _, replicas := range []int{3, 5} {
		random := rand.New(rand.NewPCG(4, uint64(replicas)))
		loads := make([]float64, 0, fleets)
		for range fleets {
			loads = append(loads, load(Targets(make([]Lock, buckets), sessions(random, replicas)),
				fleet(random, groups, buckets)))
		}
		slices.Sort(loads)
		middle, most, worst := loads[fleets/2], loads[fleets*9/10], loads[fleets-1]
		t.Logf("%d replicas: max/mean is %.3f, nine in ten below %.3f, worst %.3f", replicas, middle, most, worst)
		if most > 1.15 || worst > 1.3 {
			t.Errorf("%d replicas: the fullest of one in ten fleets has more than %.3f times the mean, of the worst %.3f",
				replicas, most, worst)
		}
	}
}

// fleet returns the buckets of n groups.
func fleet(random *rand.Rand, groups, buckets int) []int {
	uids := make([]string, 10)
	for i := range uids {
		uids[i] = uuid(random)
	}
	all := make([]int, groups)
	for i := range all {
		all[i] = Bucket(uids[random.IntN(len(uids))], fmt.Sprintf("team-%d", random.IntN(20)), fmt.Sprintf("web-%d", i), buckets)
	}
	return all
}

// load returns the ratio of the fullest session to the mean number of groups.
func load(targets []string, groups []int) float64 {
	bySession := map[string]int{}
	for _, t := range targets {
		bySession[t] += 0
	}
	most := 0
	for _, b := range groups {
		bySession[targets[b]]++
		most = max(most, bySession[targets[b]])
	}
	return float64(most) * float64(len(bySession)) / float64(len(groups))
}

func sessions(random *rand.Rand, n int) []Candidate {
	all := make([]Candidate, n)
	for i := range all {
		all[i] = Candidate{Session: uuid(random), Settled: true}
	}
	return all
}

func uuid(random *rand.Rand) string {
	a, b := random.Uint64(), random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>52, b&0xffffffffffff)
}

// TestSimilarNamesHaveEvenWeights: sessions and buckets with consecutive numbers. Without quotas, each session wins the
// same number of buckets, and the buckets that one leaves are spread evenly over the others.
func TestSimilarNamesHaveEvenWeights(t *testing.T) {
	const keys = 100_000
	for _, n := range []int{2, 3, 5, 10} {
		first, second := make([]int, n), make([][]int, n)
		for i := range second {
			second[i] = make([]int, n)
		}
		for b := range keys {
			order := preference(n, b)
			first[order[0]]++
			second[order[0]][order[1]]++
		}
		for i := range n {
			near(t, fmt.Sprintf("wins of boot-%d of %d", i, n), first[i], keys/n)
			for j := range n {
				if j != i {
					near(t, fmt.Sprintf("wins of boot-%d of %d after boot-%d", j, n, i), second[i][j], keys/n/(n-1))
				}
			}
		}
	}
}

// preference returns the first two of n sessions for the bucket.
func preference(n, bucket int) [2]int {
	best := [2]int{-1, -1}
	var weights [2]uint64
	for i := range n {
		w := bucketWeight(sessionHash(fmt.Sprintf("boot-%d", i)), bucket)
		switch {
		case best[0] < 0 || w > weights[0]:
			best, weights = [2]int{i, best[0]}, [2]uint64{w, weights[0]}
		case best[1] < 0 || w > weights[1]:
			best[1], weights[1] = i, w
		}
	}
	return best
}

// near allows six standard deviations of a fair draw.
func near(t *testing.T, what string, got, want int) {
	t.Helper()
	if difference := got - want; difference*difference > 36*want {
		t.Errorf("%s: %d, want about %d", what, got, want)
	}
}

// TestLeaderIsAnybody: all numbered sessions are chosen, none much more often than another.
func TestLeaderIsAnybody(t *testing.T) {
	const draws = 10_000
	wins := make([]int, 3)
	for i := range draws {
		names := []string{fmt.Sprintf("boot-%d", 3*i), fmt.Sprintf("boot-%d", 3*i+1), fmt.Sprintf("boot-%d", 3*i+2)}
		leader := LeaderTarget("", []Candidate{{Session: names[0]}, {Session: names[1]}, {Session: names[2]}})
		wins[slices.Index(names, leader)]++
	}
	for i := range wins {
		near(t, fmt.Sprintf("session %d", i), wins[i], draws/3)
	}
}
