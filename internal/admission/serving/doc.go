// Package serving holds the serving certificate of this replica's webhook server. The leading replica chooses it for all
// replicas (package trust) and writes it into a Secret. It chooses from the files beside the process, which come from a
// Secret volume or another source. A replica must not serve the certificate in its files at once: members that do not
// trust the authority of a new certificate yet would fail to call it.
package serving
