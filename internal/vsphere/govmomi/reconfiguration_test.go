package govmomi

import (
	"errors"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

func TestOnlyWhatIsAskedForAndNewIsInAReconfiguration(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	seen := vsphere.VM{CPU: 2, MemoryMiB: 1024, ChangeVersion: "7", Stamp: &vsphere.Stamp{Revision: "2-a"}}
	for _, tc := range []struct {
		name, version     string
		ask               vsphere.Reconfiguration
		cpu               int32
		memory            int64
		revision, nothing bool
	}{
		{name: "all of it", version: "7", ask: vsphere.Reconfiguration{Revision: "2-b", CPU: 4, MemoryMiB: 2048}, cpu: 4, memory: 2048, revision: true},
		{name: "the revision", version: "7", ask: vsphere.Reconfiguration{Revision: "2-b"}, revision: true},
		{name: "CPUs", version: "7", ask: vsphere.Reconfiguration{CPU: 4}, cpu: 4},
		{name: "memory", version: "7", ask: vsphere.Reconfiguration{MemoryMiB: 2048}, memory: 2048},
		{name: "what is so already", version: "7", ask: vsphere.Reconfiguration{Revision: "2-b", CPU: 2, MemoryMiB: 1024}, revision: true},
		{name: "what is so already, and nothing else", version: "7", ask: vsphere.Reconfiguration{Revision: "2-a", CPU: 2}, nothing: true},
		{name: "what was so in another version", version: "6", ask: vsphere.Reconfiguration{Revision: "2-a", CPU: 2, MemoryMiB: 1024}, cpu: 2, memory: 1024, revision: true},
		{name: "without a version", ask: vsphere.Reconfiguration{CPU: 2}, cpu: 2},
	} {
		tc.ask.ChangeVersion = tc.version
		spec, err := s.reconfiguration(t.Context(), nil, operations.Request{}, tc.ask, seen)
		if tc.nothing != errors.Is(err, errDone) || !tc.nothing && err != nil {
			t.Errorf("%s: error %v", tc.name, err)
		}
		if spec.NumCPUs != tc.cpu || spec.MemoryMB != tc.memory || (len(spec.ExtraConfig) == 1) != tc.revision || spec.ChangeVersion != tc.version {
			t.Errorf("%s: %+v", tc.name, spec)
		}
	}
}
