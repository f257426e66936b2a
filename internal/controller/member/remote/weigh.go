package remote

// scanner weighs JSON while it is read, by its tokens alone: nothing of it is kept. What is no JSON is weighed somehow, and fails to decode.
type scanner struct {
	weight            int64
	depth             int
	inText, isEscaped bool
	// list: objects at the second level are its items.
	list bool
}

// scan weighs what follows. It returns where a value ended, so that the next one can be weighed by itself, or len(b).
func (s *scanner) scan(b []byte) (n int, ended bool) {
	for i, c := range b {
		s.weight++
		if s.inText {
			switch {
			case s.isEscaped:
				s.isEscaped = false
			case c == '\\':
				s.isEscaped = true
			case c == '"':
				s.inText = false
			}
			continue
		}
		switch c {
		case '"':
			s.inText = true
		case ',':
			s.weight += valueWeight
		case '[':
			s.weight += arrayWeight
			s.depth++
		case '{':
			s.weight += objectWeight
			if s.list && s.depth == 2 {
				s.weight += itemWeight
			}
			s.depth++
		case '}', ']':
			if s.depth--; s.depth <= 0 {
				s.depth = 0
				return i + 1, true
			}
		}
	}
	return len(b), false
}
