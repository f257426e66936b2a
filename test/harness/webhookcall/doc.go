// Package webhookcall calls the operator's webhooks as the API server of a member does: with its questions, over its
// connections, at a steady rate, and with what somebody may send who means harm.
package webhookcall
