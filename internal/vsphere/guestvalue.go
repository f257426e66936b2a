package vsphere

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
)

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
