package vsphere

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Keys of a VM's extraConfig that cloud-init and Ignition read. Those that end in encoding say how the others are encoded.
const (
	GuestUserData         = "guestinfo.userdata"
	GuestUserDataEncoding = "guestinfo.userdata.encoding"
	GuestMetadata         = "guestinfo.metadata"
	GuestMetadataEncoding = "guestinfo.metadata.encoding"
	GuestIgnition         = "guestinfo.ignition.config.data"
	GuestIgnitionEncoding = "guestinfo.ignition.config.data.encoding"
)

// firstBootKeys are those that a clone does not keep from its template if it gets one of them.
var firstBootKeys = []string{GuestUserData, GuestUserDataEncoding, GuestMetadata, GuestMetadataEncoding, GuestIgnition, GuestIgnitionEncoding}

const (
	metadataInstance = "instance-id"
	metadataHostname = "local-hostname"
	// metadataRedact lists what cloud-init takes out of guestinfo once it has read it: userdata, vendordata or metadata.
	metadataRedact = "redact"
)

// Metadata tells a guest who it is. It is written with the clone and never again: cloud-init runs the first boot of a guest anew that finds another
// instance ID.
type Metadata struct {
	// Hostname of the guest; empty to leave it to the guest.
	Hostname string
	// More is handed on as it is. It cannot set the instance ID, and Hostname wins over local-hostname.
	More map[string]string
}

// JSON is what the guest reads.
func (m Metadata) JSON(instanceID string) ([]byte, error) {
	if _, ok := m.More[metadataInstance]; ok {
		return nil, fmt.Errorf("the metadata of a guest cannot set %s: every VM has its own", metadataInstance)
	}
	if instanceID == "" {
		return nil, errors.New("the metadata of a guest needs an instance ID")
	}
	values := map[string]any{}
	for key, value := range m.More {
		values[key] = value
	}
	if keys, ok := m.More[metadataRedact]; ok {
		values[metadataRedact] = strings.FieldsFunc(keys, func(r rune) bool { return r == ',' || r == ' ' })
	}
	values[metadataInstance] = instanceID
	if m.Hostname != "" {
		values[metadataHostname] = m.Hostname
	}
	out, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encode the metadata of a guest: %w", err)
	}
	return out, nil
}

// instanceID is another one for each clone, and nothing else depends on it. The UUID alone is not: an ordinal that an update or a shrink frees is cloned
// again with the same one, and a guest whose template was made of the VM before would skip its first boot.
func (r CloneRequest) instanceID() string {
	if r.UUID == "" || r.Stamp.Created.IsZero() {
		return r.UUID
	}
	return r.UUID + "." + r.Stamp.Created.UTC().Format("20060102T150405Z")
}

// ForCloudInit reports whether a clone gets something that cloud-init reads from guestinfo.
func (r CloneRequest) ForCloudInit() bool { return len(r.UserData) > 0 || r.Metadata != nil }

// GuestInfo is what a clone's extraConfig gets for its guest. An empty value removes what the template carries: its user data and metadata are about
// another VM, and a value that its guest wrote would tell of a guest that has not booted yet.
func (r CloneRequest) GuestInfo() (map[string]string, error) {
	out := map[string]string{}
	if r.ForCloudInit() || len(r.Ignition) > 0 {
		for _, key := range firstBootKeys {
			out[key] = ""
		}
	}
	if len(r.UserData) > 0 {
		var err error
		if out[GuestUserData], out[GuestUserDataEncoding], err = encodeForGuest(r.UserData); err != nil {
			return nil, fmt.Errorf("user data: %w", err)
		}
	}
	if len(r.Ignition) > 0 {
		var err error
		if out[GuestIgnition], out[GuestIgnitionEncoding], err = encodeForGuest(r.Ignition); err != nil {
			return nil, fmt.Errorf("configuration for Ignition: %w", err)
		}
	}
	if r.Metadata != nil {
		metadata, err := r.Metadata.JSON(r.instanceID())
		if err != nil {
			return nil, err
		}
		if out[GuestMetadata], out[GuestMetadataEncoding], err = encodeForGuest(metadata); err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
	}
	if r.GuestInfoKey != "" {
		if err := CheckGuestInfoKey(r.GuestInfoKey); err != nil {
			return nil, err
		}
		out[r.GuestInfoKey] = ""
	}
	return out, nil
}

// GuestInfoQuery asks for a value that guests write; the zero value asks for none.
type GuestInfoQuery struct {
	// Key that the guests write. One that CheckGuestInfoKey refuses is not asked for.
	Key string
	// Value that a guest writes once it is ready; empty for any. A VM whose guest has written it is not asked again until it is powered on anew.
	Value string
}

// LongestGuestInfo is how much is kept of a value that a guest has written.
const LongestGuestInfo = 1024

const guestInfoPrefix = "guestinfo."

// longestGuestInfoKey is more than anybody needs.
const longestGuestInfoKey = 128

// CheckGuestInfoKey returns why a key cannot be one that a guest writes for the operator to read, or nil. The keys of cloud-init and Ignition cannot: they
// hold secrets, and the operator writes them.
func CheckGuestInfoKey(key string) error {
	name, ok := strings.CutPrefix(key, guestInfoPrefix)
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
	}
	if !ok || name == "" || len(key) > longestGuestInfoKey || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return fmt.Errorf("%q is no key that a guest writes: it must begin with %s and have letters, digits, dots, hyphens and underscores, at most %d characters",
			key, guestInfoPrefix, longestGuestInfoKey)
	}
	for _, taken := range []string{"userdata", "metadata", "vendordata", "ignition"} {
		if lower := strings.ToLower(name); lower == taken || strings.HasPrefix(lower, taken+".") {
			return fmt.Errorf("%q is a key that cloud-init or Ignition reads; choose another one for the guest to write", key)
		}
	}
	return nil
}

// LongestGuestValue is how much of a value in guestinfo a guest can read, in bytes: VMware Tools get no more. vCenter stores more without a word, and
// the guest boots without it.
const LongestGuestValue = 64 << 10

// Encodings of what cloud-init reads.
const (
	encodingBase64 = "base64"
	encodingGzip   = "gzip+base64"
)

// GuestValueError is a text that is too long for a guest.
type GuestValueError struct {
	// Size of the text, and Encoded what it becomes, also when it is compressed, in bytes.
	Size, Encoded int
}

func (e *GuestValueError) Error() string {
	return fmt.Sprintf("%d bytes are %d when they are compressed and encoded for the guest, and a guest can read %d", e.Size, e.Encoded, LongestGuestValue)
}

// CheckGuestValue returns nil for what a guest can read, else a *GuestValueError.
func CheckGuestValue(content []byte) error {
	_, _, err := encodeForGuest(content)
	return err
}

// encodeForGuest returns a value of guestinfo and the name of its encoding. It compresses only what is too long as it is: base64 is read by more
// programs, and by people.
func encodeForGuest(content []byte) (value, encoding string, err error) {
	if base64.StdEncoding.EncodedLen(len(content)) <= LongestGuestValue {
		return base64.StdEncoding.EncodeToString(content), encodingBase64, nil
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return "", "", fmt.Errorf("compress for a guest: %w", err)
	}
	if _, err := w.Write(content); err != nil {
		return "", "", fmt.Errorf("compress for a guest: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", "", fmt.Errorf("compress for a guest: %w", err)
	}
	if n := base64.StdEncoding.EncodedLen(packed.Len()); n > LongestGuestValue {
		return "", "", &GuestValueError{Size: len(content), Encoded: n}
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), encodingGzip, nil
}
