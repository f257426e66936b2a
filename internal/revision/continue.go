package revision

// MaxContinue is how many bytes the text may have that a page of a list gives for the next page. That of an API server is made of a revision and the name at
// which the next page begins, and has less than 1 KiB. It becomes part of a URL, of which several copies are made, with up to three bytes for each of its own.
const MaxContinue = 4 << 10
