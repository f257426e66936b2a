//go:build unix

package localcluster

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRoutesOfTheKernel(t *testing.T) {
	table := "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n" +
		"eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" +
		"eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n" +
		"vmgroup3\t0003FB0A\t0203FA0A\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
	got, err := parseRoutes([]byte(table))
	want := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("10.251.3.0/24")}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %v, %v; want %v and not the default route", got, err, want)
	}
	for number, overlaps := range map[int]bool{3: true, 4: false} {
		if n := newNetwork(number); n.overlaps(got) != overlaps {
			t.Errorf("network %d overlaps %v: %t, want %t", number, got, !overlaps, overlaps)
		}
	}
	if !newNetwork(7).overlaps([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}) {
		t.Error("a machine that has a route to 10.0.0.0/8 is not left alone")
	}
	if _, err := parseRoutes([]byte("titles\neth0\tzz\t0\t0\t0\t0\t0\tzz\n")); err == nil {
		t.Error("a table that is none was read")
	}
}

func TestNumbersOfNetworksFitInterfaces(t *testing.T) {
	seen := map[netip.Prefix]bool{}
	for number := range networks {
		n := newNetwork(number)
		if len(n.link()) > 15 {
			t.Errorf("the kernel refuses the name %s", n.link())
		}
		for _, each := range []netip.Prefix{n.services, n.pods, netip.PrefixFrom(n.host, linkSize).Masked()} {
			if seen[each] {
				t.Errorf("%s is given twice", each)
			}
			seen[each] = true
		}
		if got := (Options{node: &n}).serviceAddress(); got != n.services.Masked().Addr().Next().String() {
			t.Errorf("the Service kubernetes is at %s", got)
		}
	}
}

func TestMountsAreListedTheLastFirst(t *testing.T) {
	table := filepath.Join(t.TempDir(), "mountinfo")
	content := "1 0 0:1 / / rw - ext4 x rw\n2 1 0:2 / /run/a rw - tmpfs x rw\n3 2 0:3 / /run/a/b rw - tmpfs x rw\n" +
		"4 3 0:3 / /run/a/b/c rw - tmpfs x rw\n5 1 0:3 / /run/ab rw - tmpfs x rw\n"
	if err := os.WriteFile(table, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := mountsBelow(table, "/run/a")
	if want := []string{"/run/a/b/c", "/run/a/b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestGroupsThatAreNotThereAreNoError(t *testing.T) {
	if err := removeCgroup("vmgroup-cluster-never-made"); err != nil {
		t.Error(err)
	}
}
