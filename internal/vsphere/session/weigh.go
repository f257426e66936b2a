package session

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
)

const (
	// deepest limits the nesting of elements. An answer has a dozen levels. A snapshot tree adds at most 32.
	deepest = 128
	// longestTag and longestText limit a tag and a run of text, in bytes. The longest useful text is a value that a guest writes, at most 64 KiB.
	longestTag, longestText = 4 << 10, 1 << 20
	// longestFault limits a fault with all its content, in bytes, because failures of operations are stored.
	longestFault = 16 << 10
	// elementWeight is the memory of an element in addition to its value.
	elementWeight = 32
)

// scanner weighs an XML answer as it passes: its bytes and, for each element, the memory of its decoded value. It follows the types of the answer like the
// decoder, because `<vm/>` has 5 bytes and can become a struct of 824.
type scanner struct {
	known typesByName
	// open are the types of the open elements. nil stands for a skipped element, or for a value without elements.
	open []reflect.Type
	// body is the type of the element Body.
	body reflect.Type

	in   place
	tag  []byte
	text int
	// quote is the open quote in a tag.
	quote  byte
	weight int64
	// faultAt is the number of open elements at the start of a fault, and fault the fault's size in bytes. Outside of faults, both are 0.
	faultAt, fault int
}

// faults are the elements that contain a fault: of SOAP, of a task, of a property, and the cause of a fault.
var faults = map[string]bool{"Fault": true, "error": true, "fault": true, "localizedMessage": true}

// place is the position of a byte in an answer.
type place int

const (
	inText place = iota
	inTag
	inComment
	inCDATA
	inInstruction
)

// errNoSOAP is no [excess], although the answer is not read further: while vCenter starts, its web server sends HTML pages.
var errNoSOAP = errors.New("the answer is no SOAP, but has a document type, as web pages have")

// excess is an exceeded limit of an answer.
type excess struct{ what string }

func (e *excess) Error() string { return e.what }

// scan weighs the next bytes.
func (s *scanner) scan(b []byte) error {
	s.weight += int64(len(b))
	for _, c := range b {
		if s.faultAt > 0 {
			if s.fault++; s.fault > longestFault {
				return &excess{fmt.Sprintf("a fault of more than %s", size(longestFault))}
			}
		}
		if s.in == inText && c != '<' {
			if s.text++; s.text > longestText {
				return &excess{fmt.Sprintf("a text of more than %s", size(longestText))}
			}
			continue
		}
		if err := s.marked(c); err != nil {
			return err
		}
	}
	return nil
}

// marked processes a byte that is no text.
func (s *scanner) marked(c byte) error {
	s.tag = append(s.tag, c)
	switch s.in {
	case inText: // c is '<'
		s.in, s.tag, s.quote = inTag, s.tag[:0], 0
		return nil
	case inTag:
		return s.inside(c)
	case inComment:
		s.until("-->")
	case inCDATA:
		if s.text++; s.text > longestText {
			return &excess{fmt.Sprintf("a text of more than %s", size(longestText))}
		}
		s.until("]]>")
	case inInstruction:
		s.until("?>")
	}
	return nil
}

// until returns to text after an end mark. It keeps only the last bytes.
func (s *scanner) until(end string) {
	if bytes.HasSuffix(s.tag, []byte(end)) {
		s.in, s.tag = inText, s.tag[:0]
		return
	}
	if n := len(s.tag) - len(end); n > 0 {
		s.tag = append(s.tag[:0], s.tag[n:]...)
	}
}

// inside processes a byte of a tag.
func (s *scanner) inside(c byte) error {
	switch {
	case len(s.tag) > longestTag:
		return &excess{fmt.Sprintf("a tag of more than %s", size(longestTag))}
	case s.quote != 0:
		if c == s.quote {
			s.quote = 0
		}
		return nil
	case s.tag[0] == '?':
		s.in, s.tag = inInstruction, s.tag[:0]
		return nil
	case s.tag[0] == '!':
		return s.declares()
	case c == '"' || c == '\'':
		s.quote = c
		return nil
	case c != '>':
		return nil
	}
	tag := s.tag[:len(s.tag)-1]
	s.in, s.tag, s.text = inText, s.tag[:0], 0
	if len(tag) > 0 && tag[0] == '/' {
		if n := len(s.open); n > 0 {
			s.open = s.open[:n-1]
		}
		if len(s.open) < s.faultAt {
			s.faultAt, s.fault = 0, 0
		}
		return nil
	}
	return s.element(tag)
}

// declares processes a tag that begins with an exclamation mark. SOAP has no document types.
func (s *scanner) declares() error {
	for _, start := range []struct {
		text string
		in   place
	}{{"!--", inComment}, {"![CDATA[", inCDATA}} {
		if string(s.tag) == start.text {
			s.in, s.tag = start.in, s.tag[:0]
			return nil
		}
		if bytes.HasPrefix([]byte(start.text), s.tag) {
			return nil
		}
	}
	return errNoSOAP
}

// element starts an element.
func (s *scanner) element(tag []byte) error {
	empty := bytes.HasSuffix(tag, []byte("/"))
	name, attributes := split(bytes.TrimSuffix(tag, []byte("/")))
	typeName, err := typeOf(attributes)
	if err != nil {
		return err
	}
	t, weight := s.becomes(name, typeName)
	if s.weight += elementWeight + weight; empty {
		return nil
	}
	if len(s.open) == deepest {
		return &excess{fmt.Sprintf("elements more than %d deep", deepest)}
	}
	s.open = append(s.open, t)
	if s.faultAt == 0 && faults[string(name)] {
		s.faultAt = len(s.open)
	}
	return nil
}

// becomes returns the type for decoding an element, and its weight.
func (s *scanner) becomes(name, typeName []byte) (t reflect.Type, weight int64) {
	switch len(s.open) {
	case 0: // Envelope
		return nil, 0
	case 1:
		if string(name) == "Body" {
			return s.body, 0
		}
		return nil, 0
	}
	parent := s.open[len(s.open)-1]
	if parent == nil {
		return nil, 0
	}
	return s.known.child(parent, name, typeName)
}

// split returns the local name of a tag, and its attributes.
func split(tag []byte) (name, attributes []byte) {
	end := bytes.IndexAny(tag, " \t\r\n")
	if end < 0 {
		end = len(tag)
	}
	return local(tag[:end]), tag[end:]
}

func local(name []byte) []byte { return name[bytes.LastIndexByte(name, ':')+1:] }

// typeOf returns the value of the attribute xsi:type. It refuses two attributes of that name, because the decoder selects one by its namespace. It also
// refuses escapes in the value, because the decoder resolves them. In both cases the type would be unknown.
func typeOf(attributes []byte) (value []byte, err error) {
	for {
		name, rest, ok := bytes.Cut(attributes, []byte("="))
		name, rest = bytes.TrimSpace(name), bytes.TrimSpace(rest)
		if !ok || len(rest) == 0 {
			return value, nil
		}
		content, after, _ := bytes.Cut(rest[1:], rest[:1])
		attributes = after
		if string(local(name)) != "type" || len(local(name)) == len(name) {
			continue
		}
		if value != nil || bytes.IndexByte(content, '&') >= 0 {
			return nil, &excess{"an element whose type is not clear"}
		}
		value = content
	}
}
