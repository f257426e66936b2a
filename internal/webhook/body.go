package webhook

import (
	"errors"
	"io"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// maxBody is the size of the largest review that is read. API servers accept objects of up to 1.5 MiB, and a review of an update holds two of those.
const maxBody = 3 << 20

// maxWeight is the largest weight of a review, in bytes of memory, as [untrusted.Weight] estimates it. An update of a group with 500 VMs weighs 2 MiB. A
// heavier review is an attack: 3 MiB of `{},` would be a gigabyte.
const maxWeight = 24 << 20

// Errors of reading a body.
var (
	errTooLarge = errors.New("the body is larger than 3 MiB")
	errTooHeavy = errors.New("the body would need more than 24 MiB of memory when it is decoded")
	errNoMemory = errors.New("too many large requests at a time")
)

// body is a body that was read. Its owner calls release once and does not use bytes afterwards.
type body struct {
	bytes  []byte
	caller string
	taken  int64
	memory *shares
}

// weigh takes memory for the decoded body. release returns it along with that of the bytes.
func (b *body) weigh() error {
	weight := untrusted.Weight(b.bytes)
	if weight > maxWeight {
		return errTooHeavy
	}
	if !b.memory.take(b.caller, weight) {
		return errNoMemory
	}
	b.taken += weight
	return nil
}

func (b *body) release() {
	b.memory.give(b.caller, b.taken)
	b.taken, b.bytes = 0, nil
}

// readBody reads r to its end. It takes memory as bytes arrive, not as Content-Length announces them, so that a slow sender holds little. On an error, it
// holds none.
func readBody(r io.Reader, limit int, memory *shares, caller string) (*body, error) {
	const first = 8 << 10
	b := &body{memory: memory, caller: caller}
	for size := first; ; size *= 2 {
		// One byte more than the limit distinguishes a body that is too large from one that just fits.
		size = min(size, limit+1)
		if !memory.take(caller, int64(size)) {
			b.release()
			return nil, errNoMemory
		}
		grown := make([]byte, len(b.bytes), size)
		copy(grown, b.bytes)
		memory.give(caller, b.taken)
		b.bytes, b.taken = grown, int64(size)
		n, err := io.ReadFull(r, b.bytes[len(b.bytes):size])
		b.bytes = b.bytes[:len(b.bytes)+n]
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		switch {
		case len(b.bytes) > limit:
			b.release()
			return nil, errTooLarge
		case ended:
			return b, nil
		case err != nil:
			b.release()
			return nil, err
		}
	}
}
