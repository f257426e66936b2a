// Package serving holds the certificate that this replica's webhook server answers with. Which one that is, the leading
// replica decides for all (package trust) and writes into a Secret; the files that a Secret volume, or anybody, puts beside
// the process are what it chooses from. A replica that started serving whatever its files hold would break the calls of
// members that do not know the authority of a new certificate yet.
package serving
