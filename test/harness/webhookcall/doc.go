// Package webhookcall calls the operator's webhooks as the API server of a member does: with the same reviews and connections, at a steady
// rate. It can also send hostile requests.
package webhookcall
