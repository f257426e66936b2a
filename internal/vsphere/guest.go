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

// Keys of a VM's extraConfig that cloud-init and Ignition read. The keys that end in "encoding" hold the encodings of the others.
const (
	GuestUserData         = "guestinfo.userdata"
	GuestUserDataEncoding = "guestinfo.userdata.encoding"
	GuestMetadata         = "guestinfo.metadata"
	GuestMetadataEncoding = "guestinfo.metadata.encoding"
	GuestIgnition         = "guestinfo.ignition.config.data"
	GuestIgnitionEncoding = "guestinfo.ignition.config.data.encoding"
)

// firstBootKeys are replaced as a set: a clone that gets one of them keeps none from its template.
var firstBootKeys = []string{GuestUserData, GuestUserDataEncoding, GuestMetadata, GuestMetadataEncoding, GuestIgnition, GuestIgnitionEncoding}

const (
	metadataInstance = "instance-id"
	metadataHostname = "local-hostname"
	// metadataRedact lists what cloud-init removes from guestinfo after reading it: userdata, vendordata or metadata.
	metadataRedact = "redact"
)

// Metadata is the cloud-init metadata of a guest. It is written once, with the clone. If cloud-init finds another instance ID, it repeats the guest's
// first boot.
type Metadata struct {
	// Hostname of the guest. If it is empty, the guest chooses its own.
	Hostname string
	// More is passed on unchanged. It cannot set the instance ID, and Hostname overrides its local-hostname.
	More map[string]string
}

// JSON returns the document that the guest reads.
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

// instanceID returns an ID that is unique for each clone and is used for nothing else. The UUID alone is not unique: after an update or a scale-down, a
// new clone of the ordinal has the same UUID. A guest whose template was made from the earlier VM would then skip its first boot.
func (r CloneRequest) instanceID() string {
	if r.UUID == "" || r.Stamp.Created.IsZero() {
		return r.UUID
	}
	return r.UUID + "." + r.Stamp.Created.UTC().Format("20060102T150405Z")
}

// ForCloudInit reports whether the clone gets guestinfo values that cloud-init reads.
func (r CloneRequest) ForCloudInit() bool { return len(r.UserData) > 0 || r.Metadata != nil }

// GuestInfo returns the guest's values for the clone's extraConfig. An empty value removes the template's: its user data and metadata describe another VM,
// and a value that its guest wrote would describe a guest that has not booted yet.
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
	// Key that the guests write. If CheckGuestInfoKey refuses the key, the operator does not query it.
	Key string
	// Value that a ready guest writes. Empty accepts any value. After the guest has written it, the operator does not query the VM again until the next
	// power-on.
	Value string
}

// LongestGuestInfo is the number of bytes that are kept of a value from a guest.
const LongestGuestInfo = 1024

const guestInfoPrefix = "guestinfo."

// longestGuestInfoKey is longer than any key in practice.
const longestGuestInfoKey = 128

// CheckGuestInfoKey returns nil if the operator can read the key from guests, else the reason. The keys of cloud-init and Ignition are refused: they hold
// secrets, and the operator writes them.
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

// LongestGuestValue is the longest guestinfo value that a guest can read, in bytes: VMware Tools read no more. vCenter stores longer values without an
// error, and the guest then boots without the value.
const LongestGuestValue = 64 << 10

// Encodings that cloud-init reads.
const (
	encodingBase64 = "base64"
	encodingGzip   = "gzip+base64"
)

// GuestValueError reports a text that is too long for a guest.
type GuestValueError struct {
	// Size is the length of the text, and Encoded its length after compression and encoding, in bytes.
	Size, Encoded int
}

func (e *GuestValueError) Error() string {
	return fmt.Sprintf("%d bytes are %d when they are compressed and encoded for the guest, and a guest can read %d", e.Size, e.Encoded, LongestGuestValue)
}

// CheckGuestValue returns nil if a guest can read the content, else a *GuestValueError.
func CheckGuestValue(content []byte) error {
	_, _, err := encodeForGuest(content)
	return err
}

// encodeForGuest returns a guestinfo value and the name of its encoding. It compresses only content that is too long for base64: more programs, and
// people, can read base64.
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
