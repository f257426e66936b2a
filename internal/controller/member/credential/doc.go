// Package credential decides when the credentials of a member expire, what status reports of them, and which of them are of one
// identity. It reads only a client configuration: the operator cannot ask an API server how long it accepts a credential.
package credential
