//go:build unix && !fast

package admitted

import (
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// BenchmarkTwentyThousandRecords has one member's groups recorded by 32 passes at a time, and then changes one.
func BenchmarkTwentyThousandRecords(b *testing.B) {
	server := localcluster.ForTest(b, "hub")
	clients, err := kubernetes.NewForConfig(server.Config)
	if err != nil {
		b.Fatal(err)
	}
	client := clients.CoreV1().ConfigMaps("default")
	records, other := start(b, client), start(b, client)
	const groups = 20_000
	began := time.Now()
	var writing sync.WaitGroup
	for worker := range 32 {
		writing.Go(func() {
			for n := worker; n < groups; n += 32 {
				if _, err := records.Put(b.Context(), Key{"member", groupNumber(n)}, entry(1, 1)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
	took := time.Since(began)
	other.until("another replica sees all", func() bool { return other.has(Key{"member", groupNumber(groups - 1)}, 1) })
	list, err := client.List(b.Context(), metav1.ListOptions{LabelSelector: component.Selector()})
	if err != nil {
		b.Fatal(err)
	}
	size := 0
	for i := range list.Items {
		size += list.Items[i].Size()
	}
	b.ResetTimer()
	for n := range b.N {
		if _, err := records.Put(b.Context(), Key{"member", groupNumber(n % groups)}, entry(int32(n+2), 1)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(took.Milliseconds()), "ms/all")
	b.ReportMetric(float64(len(list.Items)), "ConfigMaps")
	b.ReportMetric(float64(size)/groups, "bytes/group")
}
