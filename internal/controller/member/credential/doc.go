// Package credential decides when the credentials of a member expire, and what status reports of them. It reads only a client
// configuration: the operator cannot ask an API server how long it accepts a credential.
package credential
