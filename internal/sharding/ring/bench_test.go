package ring

import (
	"fmt"
	"testing"
)

// sizes are the default shard map and that of a very large installation.
var sizes = []struct{ buckets, sessions int }{{128, 10}, {1024, 50}}

// BenchmarkTargets: in "first", no bucket has a holder and each is weighed. "balanced" is the usual case without moves.
// In "join", one more session joins.
func BenchmarkTargets(b *testing.B) {
	for _, size := range sizes {
		candidates := make([]Candidate, size.sessions)
		for i := range candidates {
			candidates[i] = Candidate{Session: session(i), Settled: true}
		}
		empty := make([]Lock, size.buckets)
		balanced := apply(empty, Targets(empty, candidates))
		more := append([]Candidate{{Session: session(size.sessions), Settled: true}}, candidates...)
		for _, c := range []struct {
			name       string
			buckets    []Lock
			candidates []Candidate
		}{{"first", empty, candidates}, {"balanced", balanced, candidates}, {"join", balanced, more}} {
			b.Run(fmt.Sprintf("%d/%d/%s", size.buckets, size.sessions, c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Targets(c.buckets, c.candidates)
				}
			})
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, size := range sizes {
		r := typical(size.buckets, size.sessions)
		b.Run(fmt.Sprintf("%d/%d", size.buckets, size.sessions), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, size := range sizes {
		data, err := Encode(typical(size.buckets, size.sessions))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%d/%d", size.buckets, size.sessions), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBucket(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Bucket("0b5a3c1b-52b4-4b8e-9f0e-000000000001", "team-a", "web-frontend", 128)
	}
}
