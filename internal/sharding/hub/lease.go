package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

const (
	leaseResource = "leases"

	annotationPrefix    = "sharding.vmgroup-operator.vm.codeconnect.vmworld.com/"
	stateAnnotation     = annotationPrefix + "state"
	bootAnnotation      = annotationPrefix + "boot"
	hostAnnotation      = annotationPrefix + "host"
	sessionAnnotation   = annotationPrefix + "session"
	settingsAnnotation  = annotationPrefix + "settings"
	renewalsAnnotation  = annotationPrefix + "renewals"
	fencedByAnnotation  = annotationPrefix + "fenced-by"
	provenAnnotation    = annotationPrefix + "death-proven"
	publishedAnnotation = annotationPrefix + "board" // its name in all releases
	ringAnnotation      = annotationPrefix + "ring"

	// maxPublished limits the size of an object that every replica writes and reads every few seconds, in bytes of
	// JSON. Kubernetes limits all annotations of an object together to 256 KiB.
	maxPublished = 64 << 10
)

var errPublishedTooLarge = errors.New("what the replica publishes is too large")

// settings in stored form, with durations as text.
type settings struct {
	Buckets  int             `json:"buckets"`
	Hash     string          `json:"hash"`
	Validity metav1.Duration `json:"validity"`
	Patience metav1.Duration `json:"patience"`
}

func (c *Client) leaseName(session string) string { return c.options.Prefix + session }

func (c *Client) encodeLease(l protocol.Lease) (*coordinationv1.Lease, error) {
	annotations, err := encodeAnnotations(l)
	if err != nil {
		return nil, err
	}
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.options.Namespace, Name: c.leaseName(l.Session),
			Labels: c.options.labels(sessionComponent), Annotations: annotations,
		},
		Spec: c.encodeSpec(l),
	}, nil
}

// encodePatch returns a JSON merge patch that sets a session's Lease to l, if the Lease is at version.
//
// It is a patch because, on PUT, an API server creates a Lease that does not exist, whatever its resourceVersion: a
// renewal would revive a deleted session. A patch never creates.
func (c *Client) encodePatch(l protocol.Lease, version string) ([]byte, error) {
	if version == "" {
		return nil, errNoVersion
	}
	annotations, err := encodeAnnotations(l)
	if err != nil {
		return nil, err
	}
	values := map[string]any{fencedByAnnotation: nil, provenAnnotation: nil, publishedAnnotation: nil} // nil removes
	for key, value := range annotations {
		values[key] = value
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"resourceVersion": version, "labels": c.options.labels(sessionComponent), "annotations": values,
		},
		"spec": c.encodeSpec(l),
	})
	if err != nil {
		return nil, fmt.Errorf("encode a change of session %s: %w", l.Session, err)
	}
	return patch, nil
}

// encodeSpec names the holder of the Lease for people and tools. The operator does not read it.
func (c *Client) encodeSpec(l protocol.Lease) coordinationv1.LeaseSpec {
	holder := l.Host + "_" + l.Session
	seconds := max(1, int32((l.Settings.Patience+time.Second-1)/time.Second))
	renewed := metav1.NewMicroTime(c.options.Now())
	return coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed}
}

func encodeAnnotations(l protocol.Lease) (map[string]string, error) {
	stored, err := json.Marshal(settings{
		Buckets: l.Settings.Buckets, Hash: l.Settings.Hash,
		Validity: metav1.Duration{Duration: l.Settings.Validity}, Patience: metav1.Duration{Duration: l.Settings.Patience},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the settings of session %s: %w", l.Session, err)
	}
	annotations := map[string]string{
		stateAnnotation: string(l.State), bootAnnotation: l.Boot, hostAnnotation: l.Host, sessionAnnotation: l.Session,
		settingsAnnotation: string(stored), renewalsAnnotation: strconv.FormatInt(l.Renewals, 10),
		ringAnnotation: fmt.Sprintf("%d/%d", l.RingGeneration, l.RingSequence),
	}
	if l.FencedBy != "" {
		annotations[fencedByAnnotation] = l.FencedBy
	}
	if l.DeathProven {
		annotations[provenAnnotation] = "true"
	}
	if len(l.Published) > 0 {
		published, err := json.Marshal(l.Published)
		if err != nil {
			return nil, fmt.Errorf("encode what session %s publishes: %w", l.Session, err)
		}
		if len(published) > maxPublished {
			return nil, fmt.Errorf("%w: %d bytes, %d are allowed", errPublishedTooLarge, len(published), maxPublished)
		}
		annotations[publishedAnnotation] = string(published)
	}
	return annotations, nil
}

// decodeLease returns the session of a Lease, or false if the Lease's name is not that of a session. If a user edited
// the Lease, or a later release wrote it in another format, the session has only its name and no State: it is unknown,
// not free.
func (c *Client) decodeLease(object *coordinationv1.Lease) (protocol.StoredLease, bool) {
	session, ours := strings.CutPrefix(object.Name, c.options.Prefix)
	if !ours || session == "" {
		return protocol.StoredLease{}, false
	}
	stored := protocol.StoredLease{Lease: protocol.Lease{Session: session}, Version: object.ResourceVersion}
	if lease, ok := decodeAnnotations(session, object.Annotations); ok {
		stored.Lease = lease
	}
	return stored, true
}

func decodeAnnotations(session string, annotations map[string]string) (protocol.Lease, bool) {
	if annotations[sessionAnnotation] != session {
		return protocol.Lease{}, false
	}
	state := protocol.State(annotations[stateAnnotation])
	switch state {
	case protocol.Starting, protocol.Ready, protocol.Draining, protocol.Fenced:
	default:
		return protocol.Lease{}, false
	}
	var stored settings
	if err := json.Unmarshal([]byte(annotations[settingsAnnotation]), &stored); err != nil {
		return protocol.Lease{}, false
	}
	renewals, err := strconv.ParseInt(annotations[renewalsAnnotation], 10, 64)
	if err != nil {
		return protocol.Lease{}, false
	}
	var generation, sequence int64
	if _, err := fmt.Sscanf(annotations[ringAnnotation], "%d/%d", &generation, &sequence); err != nil {
		return protocol.Lease{}, false
	}
	var published map[string]string
	if text, ok := annotations[publishedAnnotation]; ok {
		if err := json.Unmarshal([]byte(text), &published); err != nil {
			return protocol.Lease{}, false
		}
	}
	return protocol.Lease{
		Session: session, Boot: annotations[bootAnnotation], Host: annotations[hostAnnotation], State: state,
		Settings: ring.Settings{
			Buckets: stored.Buckets, Hash: stored.Hash,
			Validity: stored.Validity.Duration, Patience: stored.Patience.Duration,
		},
		Renewals: renewals, RingGeneration: generation, RingSequence: sequence, Published: published, FencedBy: annotations[fencedByAnnotation],
		DeathProven: annotations[provenAnnotation] == "true",
	}, true
}
