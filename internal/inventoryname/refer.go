package inventoryname

import "strings"

// Match is how well a text refers to an object.
type Match int

// Matches, the worst first.
const (
	// None: the text does not mean the object.
	None Match = iota
	// Loose: it does, in another case or spelling.
	Loose
	// Exact: it is the name, or the end of the path, letter by letter, as the client shows it or as the API has it.
	Exact
	// Whole: it is the whole path as the API has it. No other object has it.
	Whole
)

// Refer tells whether a text means the object at a path of the API: it is the path, its last name, or an end of it that begins with a name.
func Refer(text, path string) Match {
	switch {
	case text == "":
		return None
	case text == path:
		return Whole
	case !strings.Contains(path, "%") && len(text) > len(path):
		return None
	}
	best := None
	if rest, ok := strings.CutPrefix(text, "/"); ok {
		best = compare(rest, strings.TrimPrefix(path, "/"))
	}
	// No slash is in a name of the API: each begins a name.
	for end := len(path); end > 0; {
		i := strings.LastIndexByte(path[:end], '/')
		best = max(best, compare(text, path[i+1:]))
		end = i
	}
	return best
}

// compare tells whether a text is an end of a path.
func compare(text, end string) Match {
	if !strings.Contains(end, "%") && !strings.Contains(text, "%") {
		switch {
		case text == end:
			return Exact
		case strings.EqualFold(text, end):
			return Loose
		}
		return None
	}
	shown := Shown(end)
	switch {
	case text == end, text == shown:
		return Exact
	case strings.EqualFold(text, shown), strings.EqualFold(Shown(text), shown):
		return Loose
	}
	return None
}

// Below reports whether a path of the API lies below a folder, which somebody names by its path.
func Below(path, folder string) bool {
	folder = "/" + strings.Trim(folder, "/")
	for i := 1; i < len(path); i++ {
		if path[i] == '/' && compare(folder, path[:i]) != None {
			return true
		}
	}
	return false
}
