package remote

// scanner weighs JSON while it is read, by its tokens alone: nothing of it is kept but the last key. What is no JSON is weighed somehow, and fails
// to decode.
type scanner struct {
	// bytes that were read, and weight: these, and what their values need besides when they are decoded.
	bytes, weight     int64
	depth             int
	inText, isEscaped bool
	// list: objects at the second level are its items.
	list bool
	// key is the last text, and keyBytes how long it is, which may be more than fits. It is that of the value that follows.
	key      [16]byte
	keyBytes int
	// The depths within labels or annotations, within an array of managed fields, and within the fields of one of these; 0 outside.
	texts, managed, fields int
}

// reset begins the next value.
func (s *scanner) reset() { *s = scanner{list: s.list} }

// scan weighs what follows. It returns where a value ended, so that the next one can be weighed by itself, or len(b).
func (s *scanner) scan(b []byte) (n int, ended bool) {
	for i, c := range b {
		s.bytes++
		s.weight++
		switch {
		case s.inText:
			s.text(c)
		case c == '"':
			s.inText, s.keyBytes = true, 0
		case c == ',':
			s.comma()
		case c == '[' || c == '{':
			s.open(c)
		case c == '}' || c == ']':
			if s.close(); s.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(b), false
}

// text takes a byte of a text.
func (s *scanner) text(c byte) {
	switch {
	case s.isEscaped:
		s.isEscaped = false
	case c == '\\':
		s.isEscaped = true
	case c == '"':
		s.inText = false
		return
	}
	if s.keyBytes < len(s.key) {
		s.key[s.keyBytes] = c
	}
	s.keyBytes = min(s.keyBytes+1, len(s.key)+1)
}

// isKey says whether what follows is the value of that key. Keys with escapes are not known as what they mean: their values weigh more.
func (s *scanner) isKey(key string) bool {
	return s.keyBytes == len(key) && string(s.key[:len(key)]) == key
}

func (s *scanner) comma() {
	s.keyBytes = 0
	switch {
	case s.fields > 0:
	case s.texts > 0:
		s.weight += textWeight
	default:
		s.weight += valueWeight
	}
}

func (s *scanner) open(c byte) {
	switch {
	case s.fields > 0: // it stays JSON
	case c == '[':
		s.weight += arrayWeight
	default:
		s.weight += objectWeight
		if s.list && s.depth == 2 {
			s.weight += itemWeight
		}
	}
	s.depth++
	switch {
	case c == '{' && s.texts == 0 && (s.isKey("labels") || s.isKey("annotations")):
		s.texts = s.depth
	case c == '[' && s.managed == 0 && s.isKey("managedFields"):
		s.managed = s.depth
	case c == '{' && s.managed > 0 && s.fields == 0 && s.depth == s.managed+2 && s.isKey("fieldsV1"):
		s.fields = s.depth
	}
	s.keyBytes = 0
}

func (s *scanner) close() {
	for _, within := range []*int{&s.texts, &s.managed, &s.fields} {
		if s.depth <= *within {
			*within = 0
		}
	}
	s.depth = max(s.depth-1, 0)
	s.keyBytes = 0
}
