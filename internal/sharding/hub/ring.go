package hub

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

const ringResource = "configmaps"

// encodeRing returns the object for a shard map. version is the version that it replaces, or "" for a new
// one.
func (c *Client) encodeRing(r ring.Ring, version string) (*corev1.ConfigMap, error) {
	data, err := ring.Encode(r)
	if err != nil {
		return nil, fmt.Errorf("encode the shard map: %w", err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.options.Namespace, Name: c.options.RingName, ResourceVersion: version,
			Labels: c.options.labels(ringComponent),
		},
		Data: data,
	}, nil
}

// decodeRing returns the version even if the shard map cannot be read.
func decodeRing(object *corev1.ConfigMap) (protocol.StoredRing, error) {
	decoded, err := ring.Decode(object.Data)
	if err != nil {
		return protocol.StoredRing{Version: object.ResourceVersion}, err
	}
	return protocol.StoredRing{Ring: decoded, Version: object.ResourceVersion}, nil
}
