package untrusted

const (
	itemWeight   = 2 << 10
	objectWeight = 256
	arrayWeight  = 64
	valueWeight  = 32
	// textWeight is the weight of an entry of a map of texts, such as labels.
	textWeight = 100
	// foreignWeight is the weight of a byte that is possibly not UTF-8. Decoded, an invalid byte has three bytes, and the buffer doubles until it fits them.
	foreignWeight = 7
	// bareWeight is the weight of a byte that becomes six bytes when it is encoded again, as encoders of API servers do.
	bareWeight = 31
)

// Weight returns an approximate upper limit of the memory, in bytes, of a whole JSON text that is decoded into types of Kubernetes; see [Scanner.KeepsFields].
// It counts the text and, for each value, the additional memory in Go: `{},` has three bytes and can become a struct of a kilobyte.
func Weight(text []byte) int64 {
	s := Scanner{KeepsFields: true}
	for len(text) > 0 {
		n, _ := s.Scan(text)
		text = text[n:]
	}
	return s.Weight
}

// Scanner weighs JSON like [Weight] while it is read, by its tokens alone: it keeps only the last key. Invalid JSON gets some weight, and fails to decode. The
// zero value is ready for use, by one goroutine at a time.
type Scanner struct {
	// Bytes is the number of bytes read. Weight is these bytes plus the additional memory of their decoded values. Item is the size of the largest list item
	// that has ended, in bytes.
	Bytes, Weight, Item int64
	depth               int
	inText, isEscaped   bool
	// List is true if objects at the second level are items of a list, which are whole Kubernetes objects and weigh more.
	List bool
	// KeepsFields is true if the fields of managed fields weigh like one text. Types of Kubernetes keep them as JSON. It must not be set for data that is
	// decoded into maps: these hold fields like any other value.
	KeepsFields bool
	// key is the last text, and keyBytes its length, which can exceed the array. It is the key of the value that follows.
	key      [16]byte
	keyBytes int
	// The depths within labels or annotations, within an array of managed fields, and within the fields of one of these; 0 outside.
	texts, managed, fields int
	// elements has a bit for each of the 64 outermost depths: it is set if an array whose elements can become structs began there.
	elements uint64
	// bare is true if, since the last comma or bracket, there was a value that is not an object or an array.
	bare bool
	// itemBegan is where the last item of a list began.
	itemBegan int64
}

// Reset starts the next value.
func (s *Scanner) Reset() { *s = Scanner{List: s.List, KeepsFields: s.KeepsFields} }

// Scan weighs the bytes. It returns where a value ended, so that the next one can be weighed separately, or len(b).
func (s *Scanner) Scan(b []byte) (n int, ended bool) {
	for i, c := range b {
		s.Bytes++
		s.Weight++
		switch {
		case s.inText:
			s.text(c)
		case c == '"':
			s.inText, s.keyBytes, s.bare = true, 0, true
		case c == ',':
			s.comma()
		case c == '[' || c == '{':
			s.open(c)
		case c == '}' || c == ']':
			if s.close(); s.depth == 0 {
				return i + 1, true
			}
		case c > ' ' && c != ':':
			s.bare = true
		}
	}
	return len(b), false
}

func (s *Scanner) text(c byte) {
	switch {
	case s.isEscaped:
		s.isEscaped = false
	case c == '\\':
		s.isEscaped = true
	case c == '"':
		s.inText = false
		return
	case c >= 0x80:
		s.Weight += foreignWeight
	case c == '<' || c == '>' || c == '&':
		s.Weight += bareWeight
	}
	if s.keyBytes < len(s.key) {
		s.key[s.keyBytes] = c
	}
	s.keyBytes = min(s.keyBytes+1, len(s.key)+1)
}

// isKey reports whether the next value belongs to that key. Keys with escapes are not decoded: their values weigh more.
func (s *Scanner) isKey(key string) bool {
	return s.keyBytes == len(key) && string(s.key[:len(key)]) == key
}

// inElements reports whether a value here is an element of an array that can be one of structs. Finalizers are texts, of which an object can have very many.
func (s *Scanner) inElements() bool {
	return s.fields == 0 && (s.depth > 64 || s.depth > 0 && s.elements>>(s.depth-1)&1 == 1)
}

// object adds the weight of an object, or of a value that becomes a struct like an object.
func (s *Scanner) object() {
	s.Weight += objectWeight
	if s.List && s.depth == 2 {
		s.Weight += itemWeight
		s.itemBegan = s.Bytes
	}
}

// endBare adds the weight of an element that is not an object or an array. `0` and `null` become a struct like `{}`: decoders continue after a value of the
// wrong type.
func (s *Scanner) endBare() {
	if s.bare && s.inElements() {
		s.object()
	}
	s.bare = false
}

func (s *Scanner) comma() {
	s.keyBytes = 0
	s.endBare()
	switch {
	case s.fields > 0:
	case s.texts > 0:
		s.Weight += textWeight
	default:
		s.Weight += valueWeight
	}
}

func (s *Scanner) open(c byte) {
	switch {
	case s.fields > 0: // it stays JSON
	case c == '[':
		s.Weight += arrayWeight
		if s.inElements() {
			s.object()
		}
	default:
		s.object()
	}
	s.depth++
	s.bare = false
	if s.depth <= 64 {
		bit := uint64(1) << (s.depth - 1)
		s.elements &^= bit
		if c == '[' && !s.isKey("finalizers") {
			s.elements |= bit
		}
	}
	switch {
	case c == '{' && s.texts == 0 && (s.isKey("labels") || s.isKey("annotations")):
		s.texts = s.depth
	case c == '[' && s.KeepsFields && s.managed == 0 && s.isKey("managedFields"):
		s.managed = s.depth
	case c == '{' && s.managed > 0 && s.fields == 0 && s.depth == s.managed+2 && s.isKey("fieldsV1"):
		s.fields = s.depth
	}
	s.keyBytes = 0
}

func (s *Scanner) close() {
	s.endBare()
	if s.List && s.depth == 3 {
		s.Item = max(s.Item, s.Bytes-s.itemBegan)
	}
	for _, within := range []*int{&s.texts, &s.managed, &s.fields} {
		if s.depth <= *within {
			*within = 0
		}
	}
	s.depth = max(s.depth-1, 0)
	s.keyBytes = 0
}
