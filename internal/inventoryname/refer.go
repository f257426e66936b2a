package inventoryname

import "strings"

// Match grades the reference of a text to an object.
type Match int

// Matches, worst first.
const (
	// None: the text does not refer to the object.
	None Match = iota
	// Loose: the text refers to the object in another case or spelling.
	Loose
	// Exact: the text equals the name or the end of the path, in the form of the vSphere Client or of the API.
	Exact
	// Whole: the text equals the whole path in the form of the API. No other object has that path.
	Whole
)

// Refer returns how a text matches the path of an object in the API. The text can be the path, its last name, or an end of it that begins with a name.
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
	// Names of the API contain no slash, so each slash begins a name.
	for end := len(path); end > 0; {
		i := strings.LastIndexByte(path[:end], '/')
		best = max(best, compare(text, path[i+1:]))
		end = i
	}
	return best
}

// compare returns how a text matches an end of a path.
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

// Below reports whether a path of the API is below the folder, which a user names by its path.
func Below(path, folder string) bool {
	folder = "/" + strings.Trim(folder, "/")
	for i := 1; i < len(path); i++ {
		if path[i] == '/' && compare(folder, path[:i]) != None {
			return true
		}
	}
	return false
}
