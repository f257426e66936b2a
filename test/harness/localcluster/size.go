//go:build unix

package localcluster

import (
	"context"
	"encoding/json"
	"fmt"
)

// KeepsHistory returns flags for kube-apiserver that disable compaction, so that etcd keeps each version of each object.
func KeepsHistory() []string { return []string{"--etcd-compaction-interval=0"} }

// StoredBytes returns the used bytes of etcd's database. Each version of an object adds to them until compaction.
func (c *ControlPlane) StoredBytes(ctx context.Context) (int64, error) {
	answer, err := c.etcdAsk(ctx, "maintenance/status", map[string]any{})
	if err != nil {
		return 0, err
	}
	var said struct {
		InUse int64 `json:"dbSizeInUse,string"`
	}
	if err := json.Unmarshal(answer, &said); err != nil || said.InUse == 0 {
		return 0, fmt.Errorf("etcd says no size: %s, %w", answer, err)
	}
	return said.InUse, nil
}
